//! Assigns exchanges to sessions, and determines when sessions begin and end.
//!
//! A session is what the two sides name: `Mcp-Session-Id`, or the query of an HTTP+SSE endpoint. Without a
//! name, exchanges are grouped: in the stateless revision by client program and address; before it, what
//! follows an `initialize` on the same connection.

use super::clock::micros;
use super::program::stateless_client as client_of;
use super::request::{Observed, header};
use crate::transaction::{Transaction, session_in};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use wiretape_analyze::call::Outcome;
use wiretape_trace::format::Head;
use wiretape_trace::message::{Envelope, Id};
use wiretape_trace::protocol::{Peer, method};

/// The maximum number of open sessions. Beyond it, the one that was idle longest is ended.
const MAX_SESSIONS: usize = 10_000;
/// The maximum number of remembered cancellations. Bounds what a client can make us store by cancelling ids
/// that don't exist.
const MAX_CANCELLED: usize = 1000;

/// The sessions that have started and not ended yet.
pub(super) struct Sessions {
    idle: Duration,
    open: HashMap<String, OpenSession>,
    /// Requests that clients have cancelled, by the session's key and the value of the request's id.
    cancelled: HashMap<(String, Id<'static>), Cancellation>,
    /// The number of groups so far, for their names.
    groups: u64,
    run: String,
    /// The name of the recording that is loaded.
    recording: Option<String>,
    next_look: Option<u64>,
}

/// A client cancelled a request: when that was observed, when it was sent, and the outcome it gives the
/// request.
struct Cancellation {
    at: u64,
    sent: u64,
    outcome: Outcome,
}

struct OpenSession {
    session: Session,
    upstream: Arc<str>,
    last_seen: u64,
    start_report: StartReport,
}

/// Whether the beginning of a session was reported. If not, its end is reported only when one of the two
/// sides ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartReport {
    Reported,
    /// It began before the proxy was started, or its name was only seen in a request.
    Unseen,
}

/// The identity of a session, as events report it.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) id: Arc<str>,
    pub(super) protocol_version: Option<Arc<str>>,
    key: String,
}

/// What an exchange means for its session.
#[derive(Default)]
pub(super) struct Visit {
    pub(super) session: Option<Session>,
    pub(super) began: Option<Introductions>,
    pub(super) ended: Option<Ending>,
}

/// The two sides of a new session, as they introduced themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Introductions {
    pub(super) client: Peer,
    pub(super) server: Peer,
}

/// A session that has ended and whose end is to be reported.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) session: Arc<str>,
    pub(super) upstream: Arc<str>,
}

impl Ending {
    fn of(open: OpenSession) -> Self {
        Ending { session: open.session.id, upstream: open.upstream }
    }
}

impl Sessions {
    pub(super) fn new(idle: Duration) -> Self {
        // Random, so that groups of two runs on one store don't share names.
        let run = uuid::Uuid::new_v4().simple().to_string()[..8].to_owned();
        Sessions {
            idle,
            open: HashMap::new(),
            cancelled: HashMap::new(),
            groups: 0,
            run,
            recording: None,
            next_look: None,
        }
    }

    /// Names groups after the recording that is loaded, of which an exchange may know only a part.
    pub(super) fn name_after(&mut self, recording: &str) {
        self.recording = Some(short(recording).to_owned());
    }

    pub(super) fn next_look(&self) -> Option<u64> {
        self.next_look.filter(|_| !self.open.is_empty())
    }

    /// Assigns an exchange to its session, which it may begin or end.
    pub(super) fn visit(&mut self, observed: &Observed, now: u64) -> Visit {
        let transaction = &observed.transaction;
        // The order matters: an `initialize` begins a session even if it names an old one, and a name beats
        // any grouping.
        let mut visit = if let Some(handshake) = handshake(observed) {
            self.begin(observed, handshake, now)
        } else if is_refused_handshake(observed) {
            Visit::default()
        } else if let Some(name) = transaction.session_name() {
            self.named(transaction, &name, now)
        } else if let Some(client) = stateless_client(observed) {
            self.grouped(observed, client, now)
        } else {
            self.on_connection(transaction, now)
        };
        if let Some(session) = &visit.session {
            self.note_cancellations(session, observed, now);
            if is_over(observed) {
                visit.ended = self.close(&session.key.clone()).map(Ending::of);
            }
        }
        self.next_look.get_or_insert(now.saturating_add(self.pause()));
        visit
    }

    /// The outcome of an exchange that its client cancelled before the answer, and when. The cancellation is
    /// consumed.
    pub(super) fn take_cancelled(
        &mut self,
        session: &Session,
        observed: &Observed,
    ) -> Option<(Outcome, u64)> {
        // Before ids are copied: cancellations are rare.
        if self.cancelled.is_empty() {
            return None;
        }
        let mut ids = observed.calls.iter().filter_map(|call| Some(call.id.clone()?.by_value()));
        let cancellation = ids.find_map(|id| self.cancelled.remove(&(session.key.clone(), id)))?;
        // A cancellation that crosses the answer on the wire comes too late and changes nothing
        // (specification, "Cancellation").
        let is_in_time = !observed.is_answered() || cancellation.sent <= observed.answered_at();
        is_in_time.then_some((cancellation.outcome, cancellation.sent))
    }

    /// Ends the sessions that have been idle for too long.
    pub(super) fn end_silent(&mut self, now: u64) -> Vec<Ending> {
        if self.next_look.is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.next_look = Some(now.saturating_add(self.pause()));
        let idle = micros(self.idle);
        self.cancelled.retain(|_, cancellation| now.saturating_sub(cancellation.at) < idle);
        let silent = |open: &OpenSession| now.saturating_sub(open.last_seen) >= idle;
        let mut keys: Vec<String> =
            self.open.iter().filter(|(_, open)| silent(open)).map(|(key, _)| key.clone()).collect();
        // Sorted, because the order of a hash map would make events differ from run to run.
        keys.sort();
        keys.iter().filter_map(|key| self.end(key)).collect()
    }

    /// Ends all sessions, at shutdown.
    pub(super) fn end_all(&mut self) -> Vec<Ending> {
        let mut keys: Vec<String> = self.open.keys().cloned().collect();
        keys.sort();
        keys.iter().filter_map(|key| self.end(key)).collect()
    }

    fn pause(&self) -> u64 {
        // A tenth of the timeout, so that ends are at most 10 % late; not below 100 ms, or short timeouts
        // would scan all sessions all the time.
        micros((self.idle / 10).max(Duration::from_millis(100)))
    }

    /// Removes a session that has fallen silent. Its end is reported only if its beginning was.
    fn end(&mut self, key: &str) -> Option<Ending> {
        self.close(key).filter(|open| open.start_report == StartReport::Reported).map(Ending::of)
    }

    /// Removes a session that one of the two sides ended. Its end is reported even if it began before us.
    fn close(&mut self, key: &str) -> Option<OpenSession> {
        self.open.remove(key)
    }

    fn begin(&mut self, observed: &Observed, began: Introductions, now: u64) -> Visit {
        let transaction = &observed.transaction;
        let (key, id) = match transaction.session_name() {
            Some(name) => (named_key(&transaction.upstream, &name), name.into()),
            None => (connection_key(transaction), self.new_id("connection", transaction)),
        };
        let ended = self.end(&key);
        let session = Session { id, protocol_version: observed.protocol_version.clone(), key };
        let crowded_out = self.open(session.clone(), StartReport::Reported, transaction, now);
        Visit { session: Some(session), began: Some(began), ended: ended.or(crowded_out) }
    }

    fn named(&mut self, transaction: &Transaction, name: &str, now: u64) -> Visit {
        let key = named_key(&transaction.upstream, name);
        if let Some(session) = self.touch(&key, now) {
            return Visit { session: Some(session), ..Visit::default() };
        }
        let session = Session { id: name.into(), protocol_version: None, key };
        let ended = self.open(session.clone(), StartReport::Unseen, transaction, now);
        Visit { session: Some(session), ended, ..Visit::default() }
    }

    fn grouped(&mut self, observed: &Observed, client: Peer, now: u64) -> Visit {
        let transaction = &observed.transaction;
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let key = format!(
            "group\0{}\0{}\0{}\0{}",
            transaction.upstream,
            transaction.client.map_or_else(String::new, |client| client.ip().to_string()),
            part(&client.name),
            part(&client.version)
        );
        if let Some(session) = self.touch(&key, now) {
            return Visit { session: Some(session), ..Visit::default() };
        }
        // A client probes whether an older server knows the stateless revision. It fails, and must not begin
        // a session.
        if !matches!(observed.status, Outcome::Ok | Outcome::ToolError) {
            return Visit::default();
        }
        let protocol_version = observed.protocol_version.clone();
        let session = Session { id: self.new_id("client", transaction), protocol_version, key };
        let ended = self.open(session.clone(), StartReport::Reported, transaction, now);
        let began = Some(Introductions { client, server: server_of(observed) });
        Visit { session: Some(session), began, ended }
    }

    fn on_connection(&mut self, transaction: &Transaction, now: u64) -> Visit {
        Visit { session: self.touch(&connection_key(transaction), now), ..Visit::default() }
    }

    fn touch(&mut self, key: &str, now: u64) -> Option<Session> {
        let open = self.open.get_mut(key)?;
        open.last_seen = now;
        Some(open.session.clone())
    }

    fn open(
        &mut self,
        session: Session,
        start_report: StartReport,
        transaction: &Transaction,
        now: u64,
    ) -> Option<Ending> {
        let crowded_out = if self.open.len() >= MAX_SESSIONS {
            // A scan of all sessions, but only for a new session beyond the limit. Keeping an order would
            // cost on every exchange.
            let oldest = self.open.iter().min_by_key(|(_, open)| open.last_seen).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.end(&key))
        } else {
            None
        };
        let upstream = Arc::clone(&transaction.upstream);
        self.open
            .insert(session.key.clone(), OpenSession { session, upstream, last_seen: now, start_report });
        crowded_out
    }

    /// A name for a session that neither side names. If the exchange that begins it is recorded, it is named after the trace
    /// and the exchange, so that loading the trace yields the same name.
    fn new_id(&mut self, kind: &str, transaction: &Transaction) -> Arc<str> {
        let trace = self.recording.as_deref().or(transaction.trace.as_deref().map(short));
        if let Some(trace) = trace {
            return format!("{kind}-{trace}-{}", transaction.x).into();
        }
        self.groups += 1;
        format!("{kind}-{}-{}", self.run, self.groups).into()
    }

    fn note_cancellations(&mut self, session: &Session, observed: &Observed, now: u64) {
        for (id, outcome) in observed.cancels() {
            if self.cancelled.len() < MAX_CANCELLED {
                let sent = observed.sent_at();
                let cancellation = Cancellation { at: now, sent, outcome };
                self.cancelled.insert((session.key.clone(), id), cancellation);
            }
        }
    }
}

/// The beginning of a trace's id: names of sessions are shown to people.
fn short(trace: &str) -> &str {
    trace.char_indices().nth(8).map_or(trace, |(end, _)| &trace[..end])
}

fn named_key(upstream: &str, name: &str) -> String {
    format!("named\0{upstream}\0{name}")
}

fn connection_key(transaction: &Transaction) -> String {
    // Without a number, a trace has the exchanges of one connection.
    format!("connection\0{}\0{}", transaction.upstream, transaction.connection.unwrap_or_default())
}

/// Whether the session is over: the client deleted it, the server no longer knows it (404), or the HTTP+SSE
/// stream it consists of has ended.
fn is_over(observed: &Observed) -> bool {
    let transaction = &observed.transaction;
    match transaction.status {
        Some(status) if &*transaction.method == "DELETE" => (200..300).contains(&status),
        Some(404) => transaction.session.is_some() && &*transaction.method == "POST",
        // An HTTP+SSE session lasts as long as its stream. Over streamable HTTP, the client may open another
        // one.
        _ if transaction.session.is_none() || asks_in_session(transaction) => false,
        _ => observed.is_stream() && !names_session(transaction.response_head.as_deref()),
    }
}

/// Whether this was an `initialize` that failed outside of any session. A server may assign a session id in
/// the same response, but no client will use it.
fn is_refused_handshake(observed: &Observed) -> bool {
    let is_initialize = observed.calls.first().is_some_and(|call| &*call.method == method::INITIALIZE);
    is_initialize && observed.status != Outcome::Ok && !asks_in_session(&observed.transaction)
}

/// Whether the request itself names a session.
fn asks_in_session(transaction: &Transaction) -> bool {
    names_session(transaction.request_head.as_deref()) || session_in(&transaction.target).is_some()
}

fn names_session(head: Option<&Head>) -> bool {
    head.is_some_and(|head| header(head, wiretape_trace::protocol::header::SESSION_ID).is_some())
}

/// The two sides, if this was a successful `initialize`.
fn handshake(observed: &Observed) -> Option<Introductions> {
    let call = observed.calls.first().filter(|call| &*call.method == method::INITIALIZE)?;
    if observed.status != Outcome::Ok {
        return None;
    }
    let answer = Envelope::scan(&call.answer.as_ref()?.message).result?;
    let params = Envelope::scan(&call.message).params?;
    let mut client = Peer::client(params).unwrap_or_default();
    client.platform = client.platform.or_else(|| platform(&observed.transaction));
    Some(Introductions { client, server: Peer::server(answer).unwrap_or_default() })
}

/// The client of the stateless revision, which introduces itself in every request.
fn stateless_client(observed: &Observed) -> Option<Peer> {
    let mut client = client_of(Envelope::scan(&observed.calls.first()?.message).params?)?;
    client.platform = client.platform.or_else(|| platform(&observed.transaction));
    Some(client)
}

/// The server, which since 2026-07-28 introduces itself in the `_meta` of its results.
fn server_of(observed: &Observed) -> Peer {
    let answer = observed.calls.first().and_then(|call| call.answer.as_ref());
    let result = answer.and_then(|answer| Envelope::scan(&answer.message).result);
    result.and_then(Peer::server).unwrap_or_default()
}

/// The platform from a browser's client hint (`Sec-CH-UA-Platform`), which is a quoted string.
fn platform(transaction: &Transaction) -> Option<String> {
    let platform = header(transaction.request_head.as_deref()?, "sec-ch-ua-platform")?;
    Some(platform.trim_matches('"').to_owned())
}
