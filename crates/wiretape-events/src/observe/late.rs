//! Answers that come on another stream than the request's: over HTTP+SSE, a POST is merely accepted.

use super::request::Observed;
use crate::transaction::Streamed;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wiretape_analyze::call::Outcome;
use wiretape_trace::message::{Envelope, Id, MessageKind};

/// More are not waited for, and more that come too early are not kept.
const MAX: usize = 4096;
/// An answer that comes before its request has ended does so by little.
const EARLY: Duration = Duration::from_secs(60);

/// A request: the server, the session, and the id.
type Key = (String, String, String);

/// Requests that wait for their answers, and answers that wait for their requests.
#[derive(Default)]
pub(super) struct LateAnswers {
    waiting: HashMap<Key, Waiting>,
    early: HashMap<Key, Streamed>,
}

struct Waiting {
    observed: Observed,
    since: Instant,
}

impl LateAnswers {
    /// Takes an exchange whose answer is still to come, unless that has come already; then it is given back, with its answer.
    pub(super) fn hold(&mut self, mut observed: Observed, now: Instant) -> Option<Observed> {
        let Some(key) = key_of(&observed) else { return Some(observed) };
        if let Some(streamed) = self.early.remove(&key) {
            observed.answer_late(streamed);
            return Some(observed);
        }
        if self.waiting.len() >= MAX {
            return Some(observed);
        }
        self.waiting.insert(key, Waiting { observed, since: now });
        None
    }

    /// An answer has come on a stream: the exchange that it answers, if that has ended.
    pub(super) fn answer(&mut self, streamed: Streamed) -> Option<Observed> {
        let id = Envelope::scan(&streamed.message).id.map(|id| text(&id))?;
        let key = (streamed.upstream.to_string(), streamed.session.clone(), id);
        match self.waiting.remove(&key) {
            Some(mut waiting) => {
                waiting.observed.answer_late(streamed);
                Some(waiting.observed)
            }
            None => {
                if self.early.len() < MAX {
                    self.early.insert(key, streamed);
                }
                None
            }
        }
    }

    /// The client has given up a request.
    pub(super) fn cancel(
        &mut self,
        upstream: &str,
        session: &str,
        id: &str,
        outcome: Outcome,
    ) -> Option<Observed> {
        let key = (upstream.to_owned(), session.to_owned(), id.to_owned());
        let mut observed = self.waiting.remove(&key)?.observed;
        observed.was_cancelled(outcome);
        Some(observed)
    }

    /// The stream of a session is gone, and with it every answer that was to come on it.
    pub(super) fn leave(&mut self, upstream: &str, session: &str) -> Vec<Observed> {
        let is_theirs = |key: &&Key| key.0 == upstream && key.1 == session;
        let mut keys: Vec<Key> = self.waiting.keys().filter(is_theirs).cloned().collect();
        keys.sort();
        let waiting = keys.iter().filter_map(|key| self.waiting.remove(key));
        waiting
            .map(|mut waiting| {
                waiting.observed.was_left();
                waiting.observed
            })
            .collect()
    }

    /// Exchanges that have waited for so long that nothing will come.
    pub(super) fn give_up(&mut self, patience: Duration, now: Instant) -> Vec<Observed> {
        self.early.retain(|_, streamed| now.duration_since(streamed.at) < EARLY);
        let mut keys: Vec<Key> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| now.duration_since(waiting.since) >= patience)
            .map(|(key, _)| key.clone())
            .collect();
        keys.sort();
        keys.iter().filter_map(|key| self.waiting.remove(key)).map(|waiting| waiting.observed).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.early.is_empty()
    }
}

/// What a request is known by whose answer comes on another stream: it has an id, belongs to a session, and was accepted.
fn key_of(observed: &Observed) -> Option<Key> {
    let transaction = &observed.transaction;
    let [call] = observed.calls.as_slice() else { return None };
    if transaction.status != Some(202) || call.kind != MessageKind::Request {
        return None;
    }
    let session = transaction.session_name()?;
    Some((transaction.upstream.to_string(), session, text(call.id.as_ref()?)))
}

fn text(id: &Id<'_>) -> String {
    let (Id::String(text) | Id::Number(text)) = id;
    text.clone().into_owned()
}
