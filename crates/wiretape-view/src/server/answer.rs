//! JSON responses and error responses.

use crate::api::types::Problem;
use crate::library::OpenError;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use std::io;
use wiretape_analyze::filter::FilterError;
use wiretape_events::store::StoreError;

/// An error response, with a sentence that the page shows.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    problem: Problem,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Refusal { status, problem: Problem { error: error.into(), hint: None, span: None } }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, format!("no such {what}"))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self.problem)).into_response()
    }
}

impl From<OpenError> for Refusal {
    fn from(error: OpenError) -> Self {
        let status = match &error {
            OpenError::Unknown(_) => StatusCode::NOT_FOUND,
            OpenError::Nothing => StatusCode::BAD_REQUEST,
            OpenError::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let hint = match &error {
            OpenError::Unknown(_) => Some(
                "the home page lists the traces on this machine; open another file with `wiretape view FILE`, or drop it on this page",
            ),
            _ => None,
        };
        let refusal = Refusal::new(status, error.to_string());
        hint.into_iter().fold(refusal, Refusal::hint)
    }
}

impl From<FilterError> for Refusal {
    fn from(error: FilterError) -> Self {
        let mut refusal = Refusal::new(StatusCode::BAD_REQUEST, error.to_string());
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        refusal.problem.span = Some([place(error.span.start), place(error.span.end)]);
        refusal
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the trace can't be read: {error}"))
            .hint("if the file was moved or deleted, open it again")
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the store can't be read: {error}"))
    }
}

/// Runs blocking work on another thread and returns its result as JSON.
pub(crate) async fn answer<T, F>(work: F) -> Result<Json<T>, Refusal>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, Refusal> + Send + 'static,
{
    // Queries read files and scan indexes; on the server's only thread they would block all other requests.
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer.map(Json),
        // The query panicked, or the runtime is shutting down.
        Err(_) => {
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error: this is a bug in wiretape"))
        }
    }
}
