//! Traces that the page brings: dropped on it, or fetched by the browser.

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

/// What the file is called.
#[derive(Debug, Deserialize)]
pub(crate) struct Called {
    #[serde(default)]
    name: String,
}

/// Takes a file; it goes away with the program.
pub(crate) async fn upload(
    State(app): State<Arc<App>>,
    Query(called): Query<Called>,
    body: Body,
) -> Result<Json<Opened>, Refusal> {
    let mut file = NamedTempFile::with_prefix("wiretape-")?;
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let broke_off = |_| Refusal::new(StatusCode::BAD_REQUEST, "the file broke off").hint("drop it again");
        file.write_all(&piece.map_err(broke_off)?)?;
    }
    file.flush()?;
    if head(file.path()).is_err() {
        let refusal = Refusal::new(StatusCode::BAD_REQUEST, format!("{} is not a trace", called.name));
        return Err(refusal.hint(
            "a trace is a .jsonl file as `wiretape record` writes it; `wiretape import` makes one of another program's transcript",
        ));
    }
    let is_live = Arc::new(AtomicBool::new(false));
    Ok(Json(Opened { key: app.library.bring(&called.name, file, is_live) }))
}
