//! Pairs requests with answers that arrive on another stream.
//!
//! Over HTTP+SSE (2024-11-05), a POST is merely accepted, and its answer arrives on the session's only
//! stream. Over streamable HTTP, a server may close the stream of a POST before the answer (2025-11-25,
//! "Sending Messages to the Server"), and any stream may break: a client then resumes it with a GET that
//! names the last event id, and the answer arrives there.

use super::clock::micros;
use super::request::Observed;
use crate::transaction::{Streamed, Transaction, session_in};
use std::collections::HashMap;
use std::time::Duration;
use wiretape_analyze::call::Outcome;
use wiretape_trace::format::Ended;
use wiretape_trace::message::{Envelope, Id, MessageKind};

/// The maximum number of pending requests, and of answers that arrived early. Beyond it, requests are
/// reported without an answer, and early answers are ignored.
const MAX: usize = 4096;
/// How long an answer is kept whose request has not ended yet. The answer may overtake the end of its own
/// POST, but only slightly.
const EARLY: Duration = Duration::from_secs(60);
/// How long to wait for a broken stream to be resumed before its call is reported without an answer. Clients
/// reconnect within seconds.
const RESUMED_WITHIN: Duration = Duration::from_secs(60);

/// Identifies a request: the server, the session, and the JSON-RPC id by value.
type Key = (String, String, Id<'static>);

/// Requests pending for their answers, and answers pending for their requests.
#[derive(Default)]
pub(super) struct LateAnswers {
    pending: HashMap<Key, PendingRequest>,
    early: HashMap<Key, EarlyAnswer>,
}

/// An answer whose request has not ended yet.
struct EarlyAnswer {
    streamed: Streamed,
    /// When it was observed, in microseconds.
    since: u64,
}

struct PendingRequest {
    observed: Observed,
    /// When it was observed, in microseconds.
    since: u64,
    expected_on: AnswerStream,
}

/// Where the answer of an exchange is expected that ended without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerStream {
    /// On the only stream of its HTTP+SSE session.
    OfSession,
    /// On the stream that resumes the request's own.
    Resumed,
}

impl AnswerStream {
    fn of(transaction: &Transaction) -> Option<Self> {
        let is_http_sse = session_in(&transaction.target).is_some();
        match transaction.ended {
            // 202 is how the old transport accepts a request; in streamable HTTP it is only used for
            // notifications and responses.
            _ if transaction.status == Some(202) => Some(AnswerStream::OfSession),
            Ended::ClientClosed if is_http_sse => Some(AnswerStream::OfSession),
            Ended::Complete | Ended::ClientClosed | Ended::UpstreamClosed if transaction.is_resumable => {
                Some(AnswerStream::Resumed)
            }
            _ => None,
        }
    }
}

impl PendingRequest {
    /// How long to wait for the answer, if sessions may be idle for `idle`.
    fn patience(&self, idle: Duration) -> Duration {
        match self.expected_on {
            AnswerStream::OfSession => idle,
            AnswerStream::Resumed => idle.min(RESUMED_WITHIN),
        }
    }
}

impl LateAnswers {
    /// Keeps an exchange whose answer is still to come. It is returned at once if the answer has already
    /// arrived, or if none is expected.
    pub(super) fn hold(&mut self, mut observed: Observed, now: u64) -> Option<Observed> {
        let Some(key) = key_of(&observed) else { return Some(observed) };
        // However the exchange ended: a client that has its answer may close the POST before the server
        // accepts it.
        if let Some(early) = self.early.remove(&key) {
            observed.answer_late(early.streamed);
            return Some(observed);
        }
        let Some(expected_on) = AnswerStream::of(&observed.transaction) else { return Some(observed) };
        if self.pending.len() >= MAX {
            return Some(observed);
        }
        let replaced = self.pending.insert(key, PendingRequest { observed, since: now, expected_on });
        // The client reused the id, so nothing can answer the old request any more.
        replaced.map(|pending| pending.observed)
    }

    /// Takes an answer from a stream, and returns the exchange that it completes, if that has ended.
    pub(super) fn answer(&mut self, streamed: Streamed, now: u64) -> Option<Observed> {
        let id = Envelope::scan(&streamed.message).id?.by_value().into_owned();
        let key = (streamed.upstream.to_string(), streamed.session.clone(), id);
        match self.pending.remove(&key) {
            Some(mut pending) => {
                pending.observed.answer_late(streamed);
                Some(pending.observed)
            }
            None => {
                if self.early.len() < MAX {
                    self.early.insert(key, EarlyAnswer { streamed, since: now });
                }
                None
            }
        }
    }

    /// Returns the pending request that the client cancelled.
    pub(super) fn cancel(
        &mut self,
        upstream: &str,
        session: &str,
        id: &Id<'static>,
        (outcome, sent): (Outcome, u64),
    ) -> Option<Observed> {
        let key = (upstream.to_owned(), session.to_owned(), id.clone());
        let mut observed = self.pending.remove(&key)?.observed;
        observed.mark_cancelled(outcome, sent);
        Some(observed)
    }

    /// The stream of a session ended: returns the requests whose answers can no longer arrive on it.
    pub(super) fn take_of_closed_stream(&mut self, upstream: &str, session: &str) -> Vec<Observed> {
        let is_theirs = |(key, pending): &(&Key, &PendingRequest)| {
            key.0 == upstream && key.1 == session && pending.expected_on == AnswerStream::OfSession
        };
        let mut keys: Vec<Key> = self.pending.iter().filter(is_theirs).map(|(key, _)| key.clone()).collect();
        // Sorted, because the order of a hash map would make events differ from run to run. Likewise below.
        keys.sort();
        let pending = keys.iter().filter_map(|key| self.pending.remove(key));
        pending
            .map(|mut pending| {
                pending.observed.mark_disconnected();
                pending.observed
            })
            .collect()
    }

    /// Returns the exchanges that have waited too long for an answer, if sessions may be idle for `idle`.
    pub(super) fn give_up(&mut self, idle: Duration, now: u64) -> Vec<Observed> {
        self.early.retain(|_, early| now.saturating_sub(early.since) < micros(EARLY));
        let mut keys: Vec<Key> = self
            .pending
            .iter()
            .filter(|(_, pending)| now.saturating_sub(pending.since) >= micros(pending.patience(idle)))
            .map(|(key, _)| key.clone())
            .collect();
        keys.sort();
        keys.iter().filter_map(|key| self.pending.remove(key)).map(|pending| pending.observed).collect()
    }

    /// How long until [`give_up`](Self::give_up) may find something; `None` if nothing is pending. A tenth of
    /// the timeout, so that events are at most 10 % late.
    pub(super) fn pause(&self, idle: Duration) -> Option<Duration> {
        let is_any = !self.pending.is_empty() || !self.early.is_empty();
        is_any.then(|| idle.min(RESUMED_WITHIN) / 10)
    }
}

/// The key of a single request without an answer in its own exchange; `None` for anything else. Batches of several messages are not held.
fn key_of(observed: &Observed) -> Option<Key> {
    let transaction = &observed.transaction;
    let [call] = observed.calls.as_slice() else { return None };
    if call.kind != MessageKind::Request || observed.is_answered() {
        return None;
    }
    let session = transaction.session_name()?;
    Some((transaction.upstream.to_string(), session, call.id.clone()?.by_value()))
}
