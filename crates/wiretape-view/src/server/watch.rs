//! Tells the page what has changed, as it happens.

use super::App;
use super::answer::Refusal;
use crate::api::types::Change;
use crate::query::{Set, info};
use axum::extract::{Query, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// How often there is a look: often enough that a call is seen at once, seldom enough that nobody notices.
const LOOK: Duration = Duration::from_millis(80);

/// What is watched.
#[derive(Debug, Deserialize)]
pub(crate) struct Watched {
    #[serde(default)]
    trace: String,
}

struct Watcher {
    app: Arc<App>,
    set: Set,
    told: Option<Change>,
}

/// What has changed, an event each.
pub(crate) async fn watch(
    State(app): State<Arc<App>>,
    Query(watched): Query<Watched>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let set = if watched.trace.is_empty() {
        Set { traces: Vec::new() }
    } else {
        app.library.set(&watched.trace)?
    };
    let watcher = Watcher { app, set, told: None };
    let changes = stream::unfold(watcher, |mut watcher| async {
        let change = watcher.next().await;
        let event = Event::default().json_data(&change).unwrap_or_default();
        Some((Ok(event), watcher))
    });
    Ok(Sse::new(changes).keep_alive(KeepAlive::default()))
}

impl Watcher {
    /// The next change; the first is how things stand.
    async fn next(&mut self) -> Change {
        loop {
            let now = info::change(&self.set, self.app.library.home_version());
            if self.told.as_ref() != Some(&now) {
                self.told = Some(now.clone());
                return now;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
