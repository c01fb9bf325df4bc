//! What the exchanges of one client connection share while they are recorded: which trace they go to, which is usually that of
//! the last one, and the heads that repeat.

use super::heads::HeadCache;
use super::recorder::Recorder;
use super::traces::{SessionTrace, SessionTraces};
use crate::http::headers;
use crate::http::target::Target;
use crate::warning::Warning;
use http::{Method, request};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use wiretape_trace::format::ConnectionNote;

/// Records the exchanges of one client connection.
pub(crate) struct ConnectionRecorder {
    recorder: Arc<Recorder>,
    number: u64,
    peer: SocketAddr,
    listener: Arc<RecordedListener>,
    heads: HeadCache,
    /// The session of the last request. A client connection usually has one session, so this saves a lookup by name in the map
    /// that all workers share.
    last_session: Mutex<Option<LastSession>>,
    /// The trace for requests without a session.
    sessionless: Mutex<Option<Arc<SessionTrace>>>,
}

/// A listener, as traces and events name it.
#[derive(Debug)]
pub(crate) struct RecordedListener {
    pub(crate) name: Arc<str>,
    /// The URL of the server behind a reverse proxy, as the user gave it; `None` for a forward proxy.
    pub(crate) upstream: Option<String>,
}

/// A session and its trace.
struct LastSession {
    target: Arc<Target>,
    session: String,
    trace: Arc<SessionTrace>,
}

impl ConnectionRecorder {
    pub(crate) fn new(recorder: &Arc<Recorder>, listener: &Arc<RecordedListener>, peer: SocketAddr) -> Self {
        ConnectionRecorder {
            recorder: Arc::clone(recorder),
            number: recorder.counters.connections.next(),
            peer,
            listener: Arc::clone(listener),
            heads: HeadCache::default(),
            last_session: Mutex::default(),
            sessionless: Mutex::default(),
        }
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// The connection's number, in the order of arrival.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn listener_name(&self) -> &Arc<str> {
        &self.listener.name
    }

    /// Whether the proxy is a reverse proxy, whose clients don't know the server's URL.
    pub(super) fn is_reverse(&self) -> bool {
        self.listener.upstream.is_some()
    }

    /// The connection, as the first line of each of its exchanges has it.
    pub(super) fn note(&self) -> ConnectionNote<'_> {
        ConnectionNote {
            number: self.number,
            client: self.peer,
            listener: Cow::Borrowed(&self.listener.name),
        }
    }

    pub(super) fn heads(&self) -> &HeadCache {
        &self.heads
    }

    /// Finds or begins the trace for an exchange's lines, and holds it open for the exchange.
    pub(super) fn trace_for(
        &self,
        target: &Arc<Target>,
        parts: &request::Parts,
    ) -> Option<Arc<SessionTrace>> {
        let traces = self.recorder.traces.as_ref()?;
        if let Some(session) = headers::session(&parts.headers) {
            return self.session_trace(traces, target, session);
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        if parts.method == Method::POST
            // HTTP+SSE (2024-11-05) names the session in the query of its endpoint; other POSTs are spared the
            // lookup.
            && path.contains('?')
            && let Some(trace) = traces.named(&endpoint_name(target, path))
        {
            return Some(trace);
        }
        let mut slot = self.sessionless.lock();
        // `hold` fails for a trace that has ended because the connection was idle for too long.
        if let Some(trace) = slot.as_ref().filter(|trace| trace.hold()) {
            return Some(Arc::clone(trace));
        }
        let trace = self.begin_trace(traces, target)?;
        *slot = Some(Arc::clone(&trace));
        Some(trace)
    }

    /// Finds or begins the trace of a session, and holds it open for an exchange.
    fn session_trace(
        &self,
        traces: &SessionTraces,
        target: &Arc<Target>,
        session: &str,
    ) -> Option<Arc<SessionTrace>> {
        let mut last = self.last_session.lock();
        let known = last.as_ref().filter(|last| last.session == session && last.target.is(target));
        if let Some(last) = known.filter(|last| last.trace.hold()) {
            return Some(Arc::clone(&last.trace));
        }
        // Under the map's lock, so that two connections of one session never begin two traces.
        let trace = traces.named_or(session_name(target, session), || {
            let trace = self.begin_trace(traces, target)?;
            trace.set_session(&self.recorder.clean_name(session));
            Some(trace)
        })?;
        *last = Some(LastSession {
            target: Arc::clone(target),
            session: session.to_owned(),
            trace: Arc::clone(&trace),
        });
        Some(trace)
    }

    fn begin_trace(&self, traces: &SessionTraces, target: &Target) -> Option<Arc<SessionTrace>> {
        if !traces.may_begin(self.peer.ip()) {
            self.recorder.warn_once(Warning::TooManyTraces);
            return None;
        }
        Some(match &self.listener.upstream {
            Some(upstream) => traces.begin(&self.listener.name, upstream),
            None => traces.begin(target.authority.as_str(), target.origin()),
        })
    }

    /// Binds a trace to the session id that the server has assigned.
    pub(super) fn bind_session(&self, target: &Target, session: &str, trace: &Arc<SessionTrace>) {
        let Some(traces) = &self.recorder.traces else { return };
        // A server repeats the header in every response; only the first one binds.
        if trace.session().is_some() {
            return;
        }
        trace.set_session(&self.recorder.clean_name(session));
        traces.bind(session_name(target, session), trace);
        // The next request on this connection without a session belongs to another conversation.
        let mut slot = self.sessionless.lock();
        if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, trace)) {
            *slot = None;
        }
    }

    /// Binds a trace to the endpoint that the server of HTTP+SSE has named for the client's messages.
    pub(super) fn bind_endpoint(&self, target: &Target, endpoint: &str, trace: &Arc<SessionTrace>) {
        let Some(traces) = &self.recorder.traces else { return };
        let uri = endpoint.trim().parse::<http::Uri>().ok();
        if let Some(path) = uri.as_ref().and_then(http::Uri::path_and_query) {
            traces.bind(endpoint_name(target, path.as_str()), trace);
        }
    }
}

impl Drop for ConnectionRecorder {
    fn drop(&mut self) {
        let slot = self.sessionless.lock().take();
        if let (Some(traces), Some(trace)) = (&self.recorder.traces, slot) {
            traces.end(&trace, "the client closed its connection");
        }
    }
}

fn session_name(target: &Target, session: &str) -> String {
    format!("{} session {session}", target.authority)
}

fn endpoint_name(target: &Target, path: &str) -> String {
    format!("{} endpoint {path}", target.authority)
}
