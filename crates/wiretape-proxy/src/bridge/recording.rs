//! The trace of the bridge: every message with the HTTP exchange that carried it.
//!
//! Like the proxy's `http::exchange`, an exchange writes its heads with the first line after they are known, and its end when it
//! is dropped, if no message shows it. Here it has one owner, so there is no mutex around it.

use super::options::{BridgeOptions, Secrets};
use super::outgoing::ClientLine;
use crate::http::record::exchange::{
    MAX_NOTE, Redaction, header_pairs, redact_name, redact_target, redacted, version,
};
use crate::journal::{Clock, Journal, Observation};
use crate::record::RecordOutcome;
use crate::record::{redacted_label, start_live};
use http::{Method, Version, response};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use wiretape_events::Ended;
use wiretape_trace::format::{
    Answers, BodyNote, Context, ExchangeNote, ExchangeProgress, Head, LineEnd, Meta, Producer, SseContext,
    Wire,
};
use wiretape_trace::json;
use wiretape_trace::message::Direction;
use wiretape_trace::name;
use wiretape_trace::redact::{Redactor, SecretMemory};

/// The trace of the bridge's session.
pub(super) struct Recording {
    clock: Clock,
    redactor: Option<Redactor>,
    secrets: Arc<Secrets>,
    /// What the session has named as a secret.
    memory: SecretMemory,
    /// `None` if nothing is recorded.
    journal: Option<Mutex<Journal>>,
    session: Mutex<Option<String>>,
    exchanges: AtomicU64,
    stopping: AtomicBool,
}

/// Whether a line is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Message,
    Text,
}

impl Recording {
    pub(super) fn begin(options: BridgeOptions, secrets: Arc<Secrets>) -> Self {
        let clock = Clock::start();
        let live = options.live.and_then(|live| start_live(live, &options.warn));
        let url = options.url.to_string();
        let memory = SecretMemory::default();
        let redaction = options.redactor.as_ref().map(|redactor| Redaction { redactor, memory: &memory });
        let url = secrets.scrub_text(&redact_target(redaction, &url));
        let label = options.label.as_deref();
        let label = label
            .map(|label| redacted_label(&secrets.scrub_text(label), options.redactor.as_ref()))
            .filter(|label| !label.is_empty());
        let meta = Meta {
            label: label.unwrap_or_else(|| name::clean_label(options.url.host())),
            command: vec![url],
            id: Some(uuid::Uuid::new_v4().to_string()),
            producer: Some(Producer {
                name: "wiretape".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            transport: Some("http".to_owned()),
            redacted: Some(options.redactor.is_some()),
            ..Meta::default()
        };
        let warn = options.warn;
        let journal = options.journal.map(|journal| Journal::begin(journal, meta, clock.now(), live, warn));
        Recording {
            clock,
            redactor: options.redactor,
            secrets,
            memory,
            journal: journal.map(Mutex::new),
            session: Mutex::new(None),
            exchanges: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
        }
    }

    fn redaction(&self) -> Option<Redaction<'_>> {
        self.redactor.as_ref().map(|redactor| Redaction { redactor, memory: &self.memory })
    }

    /// A redacted URL, for messages.
    pub(super) fn clean_url(&self, url: &str) -> String {
        self.secrets.scrub_text(&redact_target(self.redaction(), url))
    }

    /// The id and the name of an event as they may be written.
    fn clean_sse(&self, sse: &SseContext) -> SseContext {
        let redaction = self.redaction();
        let clean = |name: &String| self.secrets.scrub_text(&redact_name(redaction, name));
        SseContext { event: sse.event.as_ref().map(clean), id: sse.id.as_ref().map(clean), retry: sse.retry }
    }

    /// Sets the session id of the lines from now on.
    pub(super) fn set_session(&self, session: Option<&str>) {
        let redaction = self.redaction();
        *self.session.lock() = session.map(|name| self.secrets.scrub_text(&redact_name(redaction, name)));
    }

    /// From now on exchanges that end are recorded as stopped by the bridge.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Begins an exchange with a request's head.
    pub(super) fn exchange(
        self: &Arc<Self>,
        method: &Method,
        target: &str,
        headers: &http::HeaderMap,
    ) -> Exchange {
        let headers = Secrets::hidden(headers);
        let redaction = self.redaction();
        let head = Head::request(
            method.as_str(),
            &redact_target(redaction, target),
            version(Version::HTTP_11),
            header_pairs(redaction, headers.iter()),
        );
        Exchange {
            x: self.exchanges.fetch_add(1, Ordering::Relaxed),
            started: Instant::now(),
            request: Some(self.head(head)),
            response: None,
            note: None,
            opened: false,
            open_ended: false,
            again: None,
            ended: None,
            error: None,
            recording: Arc::clone(self),
        }
    }

    /// Records a line that belongs to no exchange.
    pub(super) fn record_line(&self, dir: Direction, wire: Wire, bytes: &[u8]) {
        self.write(dir, wire, bytes, None);
    }

    /// Writes the `end` line.
    pub(super) fn end(&self, reason: &str) -> RecordOutcome {
        let outcome = RecordOutcome { exit_code: 0, trace: None, lost: 0, spawn_error: None };
        let Some(journal) = &self.journal else { return outcome };
        let at = self.clock.now();
        let mut journal = journal.lock();
        journal.end(at, LineEnd { reason: Some(reason.to_owned()), ..LineEnd::default() });
        RecordOutcome { trace: journal.path().map(PathBuf::from), lost: journal.lost(), ..outcome }
    }

    fn head(&self, head: Head) -> Head {
        let head = redacted(self.redaction(), head);
        match self.secrets.scrub_json(head.json()) {
            Cow::Borrowed(_) => head,
            Cow::Owned(clean) => Head::from_json(clean),
        }
    }

    /// Redacts a line, and decides whether it is a message.
    fn clean<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, [u8]>, LineKind) {
        if json::is_utf8(bytes)
            && let Some(clean) = self.clean_json(bytes)
        {
            return (clean, LineKind::Message);
        }
        let redactor = self.redactor.as_ref();
        let clean = match self.secrets.scrub(bytes) {
            Cow::Borrowed(bytes) => {
                redactor.map_or(Cow::Borrowed(bytes), |redactor| redactor.text_with(bytes, &self.memory))
            }
            Cow::Owned(bytes) => {
                let clean = redactor.map(|redactor| redactor.text_with(&bytes, &self.memory).into_owned());
                Cow::Owned(clean.unwrap_or(bytes))
            }
        };
        (clean, LineKind::Text)
    }

    /// Redacts a line, if it is JSON.
    fn clean_json<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let redact = |bytes: &'a [u8]| match &self.redactor {
            Some(redactor) => redactor.json_with(bytes, &self.memory).ok(),
            None => json::validate(bytes).is_ok().then_some(Cow::Borrowed(bytes)),
        };
        match self.secrets.scrub_json(bytes) {
            Cow::Borrowed(bytes) => redact(bytes),
            // Replacing a value that is all digits may have broken a number, so the result is validated again.
            Cow::Owned(scrubbed) => match &self.redactor {
                Some(redactor) => {
                    let clean = redactor.json_with(&scrubbed, &self.memory).ok();
                    clean.map(|clean| Cow::Owned(clean.into_owned()))
                }
                None => json::validate(&scrubbed).is_ok().then_some(Cow::Owned(scrubbed)),
            },
        }
    }

    fn write(&self, dir: Direction, wire: Wire, bytes: &[u8], http: Option<&[u8]>) {
        let Some(journal) = &self.journal else { return };
        let (clean, kind) = self.clean(bytes);
        let session = self.session.lock().clone();
        let context = Context { wire, session: session.as_deref(), http, ..Context::default() };
        let observation = match kind {
            LineKind::Message => Observation::Message { dir, context, raw: &clean },
            LineKind::Text => Observation::Text { dir, context, text: &clean },
        };
        journal.lock().append(self.clock.now(), std::iter::once(observation));
    }
}

/// One exchange of the bridge. Its end is recorded when it is dropped, if no message shows it.
pub(super) struct Exchange {
    recording: Arc<Recording>,
    x: u64,
    started: Instant,
    /// The heads, until they are written.
    request: Option<Head>,
    response: Option<Head>,
    /// A body that is not a message.
    note: Option<BodyNote>,
    opened: bool,
    /// Whether a line was written that doesn't show the end of the exchange, so that another must.
    open_ended: bool,
    /// The number of the exchange whose message is sent again, until it is written.
    again: Option<u64>,
    ended: Option<Ended>,
    error: Option<String>,
}

impl Exchange {
    /// Records a line in either direction.
    pub(super) fn record_line(&mut self, dir: Direction, wire: Wire, bytes: &[u8], sse: Option<&SseContext>) {
        // After an event, others may follow; only the end of the exchange says that none did.
        self.open_ended |= sse.is_some();
        let clean_sse = sse.map(|sse| self.recording.clean_sse(sse));
        let http = self.context(&ExchangeNote { sse: clean_sse.map(Cow::Owned), ..ExchangeNote::default() });
        self.recording.write(dir, wire, bytes, Some(&http));
    }

    /// Records a response of the bridge in place of the server's.
    pub(super) fn record_own_answer(&mut self, bytes: &[u8]) {
        self.open_ended = true;
        let note = ExchangeNote { answers: Answers::Recorder, ..ExchangeNote::default() };
        let http = self.context(&note);
        self.recording.write(Direction::ServerToClient, Wire::default(), bytes, Some(&http));
    }

    /// Records a message that the bridge sends in place of the client.
    pub(super) fn record_own_message(&mut self, line: &ClientLine) {
        let note = ExchangeNote { answers: Answers::Recorder, ..ExchangeNote::default() };
        let http = self.context(&note);
        self.recording.write(Direction::ClientToServer, line.wire, &line.bytes, Some(&http));
    }

    /// Records that this exchange sends the message of another again, which is already in the trace. Written before the end of
    /// the
    /// other one, so that readers don't take its response for the message's answer.
    pub(super) fn record_repeat(&mut self, other: &mut Exchange) {
        self.again = Some(other.x);
        self.http(&ExchangeNote::default());
        other.end(Ended::Complete, None);
    }

    /// Records the response's head.
    pub(super) fn record_response_head(&mut self, parts: &response::Parts) {
        let redaction = self.recording.redaction();
        let pairs = header_pairs(redaction, parts.headers.iter());
        let head = Head::response(parts.status.as_u16(), version(parts.version), pairs);
        self.response = Some(self.recording.head(head));
    }

    /// Records that a stream was opened: its first event may be a long time away.
    pub(super) fn record_open(&mut self) {
        self.opened = true;
        self.http(&ExchangeNote { progress: Some(ExchangeProgress::Open), ..ExchangeNote::default() });
    }

    /// Notes the size and text of a body that is not a message.
    pub(super) fn note_body(&mut self, body: &[u8]) {
        // Redacted like every line: an error page may echo the request's headers.
        let (text, _) = self.recording.clean(&body[..body.len().min(MAX_NOTE)]);
        let text = (!text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned());
        self.note = Some(BodyNote { bytes: body.len() as u64, text, omitted: None });
    }

    /// Records how the exchange ended; the first call counts.
    pub(super) fn end(&mut self, ended: Ended, error: Option<&str>) {
        self.ended.get_or_insert(ended);
        self.error = error
            .map(|error| String::from_utf8_lossy(&self.recording.clean(error.as_bytes()).0).into_owned());
    }

    fn context(&mut self, note: &ExchangeNote<'_>) -> Vec<u8> {
        let (request, response, again) = (self.request.take(), self.response.take(), self.again.take());
        let mut http = Vec::with_capacity(512);
        let (request, response) = (request.as_ref().map(Head::view), response.as_ref().map(Head::view));
        ExchangeNote { x: self.x, request, response, again, ..note.clone() }.encode(&mut http);
        http
    }

    fn http(&mut self, note: &ExchangeNote<'_>) {
        let http = self.context(note);
        let recording = &self.recording;
        let Some(journal) = &recording.journal else { return };
        let session = recording.session.lock().clone();
        let context = Context { session: session.as_deref(), http: Some(&http), ..Context::default() };
        let observation = std::iter::once(Observation::Http { context });
        journal.lock().append(recording.clock.now(), observation);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let stopping = self.recording.stopping.load(Ordering::Relaxed);
        // Dropped without an end: the task was aborted, by the client's cancellation or by our shutdown.
        let ended = self.ended.unwrap_or(if stopping { Ended::Stopped } else { Ended::ClientClosed });
        let has_unwritten = self.request.is_some()
            || self.response.is_some()
            || self.note.is_some()
            || self.opened
            || self.open_ended;
        // The lines of the exchange say everything already; most exchanges need no line of their own.
        if !has_unwritten && ended == Ended::Complete {
            return;
        }
        let (note, error) = (self.note.take(), self.error.take());
        let duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.http(&ExchangeNote {
            response_body: note.map(Cow::Owned),
            progress: Some(ExchangeProgress::Ended(ended)),
            error: error.map(Cow::Owned),
            duration_us: Some(duration_us),
            ..ExchangeNote::default()
        });
    }
}
