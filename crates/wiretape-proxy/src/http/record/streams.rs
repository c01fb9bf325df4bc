//! Streams that outlive requests, and the requests whose responses arrive on them.
//!
//! With streamable HTTP, responses arrive on the stream of their own POST (MCP 2025-03-26, basic/transports, "Listening for
//! Messages from the Server"). With HTTP+SSE, and on a resumed stream, responses to earlier requests arrive on a stream that
//! a GET opened, so those requests are remembered: a proxy that stops waits for them.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wiretape_trace::message::{Envelope, Id, MessageKind, payloads};
use wiretape_trace::value::Value;

/// The limit of remembered requests. The streams of further ones end at once.
const MAX_AWAITED: usize = 4096;

/// The kind of messages that a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The server's own messages; no request waits for them.
    Listening,
    /// Responses to earlier requests of its session.
    Answering,
    /// Unknown, because without a trace and a sink nothing is parsed.
    Unknown,
}

/// A session id together with its server: two servers may assign the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionKey {
    pub(crate) upstream: Arc<str>,
    pub(crate) session: String,
}

/// Requests whose responses arrive on another stream than that of their own POST.
#[derive(Debug, Default)]
pub(crate) struct AwaitedAnswers(Mutex<BTreeMap<SessionKey, BTreeSet<Id<'static>>>>);

impl AwaitedAnswers {
    /// Adds the requests of a POST that was accepted without a response, and removes the ones that it cancels.
    pub(crate) fn add_accepted(&self, session: &SessionKey, message: &[u8]) {
        for payload in payloads(message) {
            let envelope = Envelope::scan(payload);
            match (envelope.kind, envelope.id, envelope.method.as_deref()) {
                (MessageKind::Request, Some(id), _) => self.insert(session, id.into_owned()),
                (_, _, Some("notifications/cancelled")) => {
                    if let Some(id) = envelope.params.and_then(cancelled) {
                        self.remove(session, &id);
                    }
                }
                _ => {}
            }
        }
    }

    /// Removes the requests that a message on a stream responds to.
    pub(crate) fn remove_answered(&self, session: &SessionKey, message: &[u8]) {
        for id in payloads(message).into_iter().filter_map(|payload| Envelope::scan(payload).id) {
            self.remove(session, &id.into_owned());
        }
    }

    /// Removes all requests of a session whose stream is gone: their responses can't arrive.
    pub(crate) fn forget(&self, session: &SessionKey) {
        self.0.lock().remove(session);
    }

    /// The number of requests without a response.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().values().map(BTreeSet::len).sum()
    }

    /// Whether a response for the session may still arrive on one of its streams.
    pub(crate) fn is_awaited(&self, session: &SessionKey) -> bool {
        self.0.lock().contains_key(session)
    }

    fn insert(&self, session: &SessionKey, id: Id<'static>) {
        let id = id.by_value();
        let mut awaited = self.0.lock();
        // Beyond the limit, draining may end a stream too early; without one, a client could fill the memory.
        if awaited.values().map(BTreeSet::len).sum::<usize>() < MAX_AWAITED {
            awaited.entry(session.clone()).or_default().insert(id);
        }
    }

    fn remove(&self, session: &SessionKey, id: &Id<'static>) {
        let id = id.clone().by_value();
        let mut awaited = self.0.lock();
        if let Some(ids) = awaited.get_mut(session)
            && ids.remove(&id)
            && ids.is_empty()
        {
            awaited.remove(session);
        }
    }
}

/// The id of the request that a cancellation names.
fn cancelled(params: &[u8]) -> Option<Id<'static>> {
    let id = Value::parse(params).ok()?.get("requestId")?;
    Some(match id.string() {
        Some(text) => Id::String(text.into_owned().into()),
        None => Id::Number(String::from_utf8_lossy(id.raw).into_owned().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SessionKey {
        SessionKey { upstream: "http://localhost:1".into(), session: name.to_owned() }
    }

    #[test]
    fn a_request_is_awaited_until_it_is_answered_cancelled_or_left() {
        let awaited = AwaitedAnswers::default();
        let (one, other) = (session("1"), session("2"));
        awaited.add_accepted(
            &one,
            br#"[{"id":1,"method":"ping"},{"id":"1","method":"ping"},{"id":2,"method":"ping"}]"#,
        );
        awaited.add_accepted(&one, br#"{"method":"notifications/initialized"}"#);
        awaited.add_accepted(&one, br#"{"id":7,"result":{}}"#);
        awaited.add_accepted(&other, br#"{"id":1,"method":"ping"}"#);
        assert_eq!(awaited.len(), 4);
        awaited.remove_answered(&one, br#"{"id":1,"result":{}}"#);
        awaited.add_accepted(&one, br#"{"method":"notifications/cancelled","params":{"requestId":"1"}}"#);
        assert_eq!(awaited.len(), 2);
        awaited.add_accepted(&one, br#"{"method":"notifications/cancelled","params":{"requestId":2}}"#);
        assert!(!awaited.is_awaited(&one) && awaited.is_awaited(&other));
        awaited.forget(&other);
        assert_eq!(awaited.len(), 0);
    }

    #[test]
    fn no_more_is_remembered_than_fits() {
        let awaited = AwaitedAnswers::default();
        for id in 0..MAX_AWAITED + 10 {
            awaited.add_accepted(&session("1"), format!(r#"{{"id":{id},"method":"ping"}}"#).as_bytes());
        }
        assert_eq!(awaited.len(), MAX_AWAITED);
    }
}
