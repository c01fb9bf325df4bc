//! Answers that come on another stream than the request's.
//!
//! Over HTTP+SSE, a POST is merely accepted, and its answer comes on the session's one stream. Over streamable HTTP, a server may
//! close the stream of a POST before the answer (2025-11-25, "Sending Messages to the Server"), and any stream may break: a client
//! then resumes it with a GET that names the last event, and the answer comes there.

use super::request::Observed;
use crate::transaction::{Streamed, Transaction, session_in};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wiretape_analyze::call::Outcome;
use wiretape_trace::format::Ended;
use wiretape_trace::message::{Envelope, Id, MessageKind};

/// More are not waited for, and more that come too early are not kept.
const MAX: usize = 4096;
/// An answer that comes before its request has ended does so by little.
const EARLY: Duration = Duration::from_secs(60);
/// How long a stream that broke off is given to be resumed, before its call is reported without an answer. Clients reconnect
/// within seconds.
const RESUMED_WITHIN: Duration = Duration::from_secs(60);

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
    expected_on: AnswerStream,
}

/// Where the answer of an exchange is expected that has ended without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerStream {
    /// On the one stream of its HTTP+SSE session.
    OfSession,
    /// On the stream that resumes its own.
    Resumed,
}

impl AnswerStream {
    fn of(transaction: &Transaction) -> Option<Self> {
        let is_http_sse = session_in(&transaction.target).is_some();
        match transaction.ended {
            _ if transaction.status == Some(202) => Some(AnswerStream::OfSession),
            Ended::ClientClosed if is_http_sse => Some(AnswerStream::OfSession),
            Ended::Complete | Ended::ClientClosed | Ended::UpstreamClosed if transaction.is_resumable => {
                Some(AnswerStream::Resumed)
            }
            _ => None,
        }
    }
}

impl Waiting {
    /// How long the answer is waited for, if a session may be silent for `idle`.
    fn patience(&self, idle: Duration) -> Duration {
        match self.expected_on {
            AnswerStream::OfSession => idle,
            AnswerStream::Resumed => idle.min(RESUMED_WITHIN),
        }
    }
}

impl LateAnswers {
    /// Takes an exchange whose answer is still to come, unless that has come already; then it is given back, with its answer.
    pub(super) fn hold(&mut self, mut observed: Observed, now: Instant) -> Option<Observed> {
        let Some(key) = key_of(&observed) else { return Some(observed) };
        // However the exchange ended: a client that has its answer may close the POST before that is accepted.
        if let Some(streamed) = self.early.remove(&key) {
            observed.answer_late(streamed);
            return Some(observed);
        }
        let Some(expected_on) = AnswerStream::of(&observed.transaction) else { return Some(observed) };
        if self.waiting.len() >= MAX {
            return Some(observed);
        }
        let replaced = self.waiting.insert(key, Waiting { observed, since: now, expected_on });
        // Its id was used again, so nothing can answer it any more.
        replaced.map(|waiting| waiting.observed)
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
        let is_theirs = |(key, waiting): &(&Key, &Waiting)| {
            key.0 == upstream && key.1 == session && waiting.expected_on == AnswerStream::OfSession
        };
        let mut keys: Vec<Key> = self.waiting.iter().filter(is_theirs).map(|(key, _)| key.clone()).collect();
        keys.sort();
        let waiting = keys.iter().filter_map(|key| self.waiting.remove(key));
        waiting
            .map(|mut waiting| {
                waiting.observed.was_left();
                waiting.observed
            })
            .collect()
    }

    /// Exchanges that have waited for so long that nothing will come, where a session may be silent for `idle`.
    pub(super) fn give_up(&mut self, idle: Duration, now: Instant) -> Vec<Observed> {
        self.early.retain(|_, streamed| now.duration_since(streamed.at) < EARLY);
        let mut keys: Vec<Key> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| now.duration_since(waiting.since) >= waiting.patience(idle))
            .map(|(key, _)| key.clone())
            .collect();
        keys.sort();
        keys.iter().filter_map(|key| self.waiting.remove(key)).map(|waiting| waiting.observed).collect()
    }

    /// How long until [`give_up`](Self::give_up) may find something; `None` if nothing waits.
    pub(super) fn pause(&self, idle: Duration) -> Option<Duration> {
        let is_any = !self.waiting.is_empty() || !self.early.is_empty();
        is_any.then(|| idle.min(RESUMED_WITHIN) / 10)
    }
}

/// What a request is known by that has no answer in its own exchange: it has an id, and belongs to a session.
fn key_of(observed: &Observed) -> Option<Key> {
    let transaction = &observed.transaction;
    let [call] = observed.calls.as_slice() else { return None };
    if call.kind != MessageKind::Request || observed.is_answered() {
        return None;
    }
    let session = transaction.session_name()?;
    Some((transaction.upstream.to_string(), session, text(call.id.as_ref()?)))
}

fn text(id: &Id<'_>) -> String {
    let (Id::String(text) | Id::Number(text)) = id;
    text.clone().into_owned()
}
