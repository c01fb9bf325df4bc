//! Traces that are uploaded through the page: dropped on it, or fetched by the browser.

use super::App;
use super::answer::Refusal;
use crate::api::types::Opened;
use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use futures_util::StreamExt as _;
use serde::Deserialize;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::NamedTempFile;
use wiretape_library::head;

/// The query parameters of an upload.
#[derive(Debug, Deserialize)]
pub(crate) struct UploadQuery {
    #[serde(default)]
    name: String,
}

/// Stores an uploaded file, which is deleted when the program ends.
pub(crate) async fn upload(
    State(app): State<Arc<App>>,
    Query(called): Query<UploadQuery>,
    body: Body,
) -> Result<Json<Opened>, Refusal> {
    // A named file, because the trace is opened by path like any other.
    let mut file = NamedTempFile::with_prefix("wiretape-")?;
    let mut pieces = body.into_data_stream();
    // In pieces: a trace can be larger than memory.
    while let Some(piece) = pieces.next().await {
        let interrupted = |_| {
            Refusal::new(StatusCode::BAD_REQUEST, "the upload was interrupted").hint("drop the file again")
        };
        file.write_all(&piece.map_err(interrupted)?)?;
    }
    file.flush()?;
    // Checked only now, because the first line may span several pieces.
    if head(file.path()).is_err() {
        let refusal = Refusal::new(StatusCode::BAD_REQUEST, format!("`{}` is not a trace", called.name));
        return Err(refusal.hint(
            "a trace is a .jsonl file that `wiretape record` wrote; `wiretape import` converts transcripts of other programs",
        ));
    }
    let is_live = Arc::new(AtomicBool::new(false));
    Ok(Json(Opened { key: app.library.bring(&called.name, file, is_live) }))
}
