//! Server-sent events that notify the page of changes.

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

/// The poll interval: a call appears without noticeable delay, and polling costs next to nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(80);

/// The query parameters of a subscription.
#[derive(Debug, Deserialize)]
pub(crate) struct WatchQuery {
    #[serde(default)]
    trace: String,
}

struct Watcher {
    app: Arc<App>,
    set: Set,
    sent: Option<Change>,
}

/// A stream with one event for each change.
pub(crate) async fn watch(
    State(app): State<Arc<App>>,
    Query(watched): Query<WatchQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let set = if watched.trace.is_empty() {
        Set { traces: Vec::new() }
    } else {
        app.library.set(&watched.trace)?
    };
    let watcher = Watcher { app, set, sent: None };
    let changes = stream::unfold(watcher, |mut watcher| async {
        let change = watcher.next().await;
        let event = Event::default().json_data(&change).unwrap_or_default();
        Some((Ok(event), watcher))
    });
    Ok(Sse::new(changes).keep_alive(KeepAlive::default()))
}

impl Watcher {
    /// The next change; the first one is the current state.
    async fn next(&mut self) -> Change {
        loop {
            // Polled and not notified: a page watches few traces, and comparing counters costs less than a
            // channel to each index.
            let now = info::change(&self.set, self.app.library.home_version());
            if self.sent.as_ref() != Some(&now) {
                self.sent = Some(now.clone());
                return now;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
