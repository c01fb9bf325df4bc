//! The trace: every message with the exchange that carried it.

use super::options::{BridgeOptions, Secrets};
use super::outgoing::Line;
use crate::http::exchange::{MAX_NOTE, header_pairs, redact_name, redact_target, redacted, version};
use crate::journal::{Clock, Journal, Observation};
use crate::record::RecordOutcome;
use crate::record::pump::lock;
use crate::record::start_live;
use http::{Method, Version, response};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use wiretape_events::Ended;
use wiretape_trace::format::{
    Answers, BodyNote, Context, ExchangeNote, Head, LineEnd, Meta, Producer, SseContext, Wire,
};
use wiretape_trace::json;
use wiretape_trace::message::Direction;
use wiretape_trace::name;
use wiretape_trace::redact::Redactor;

/// The trace of a session.
pub(super) struct Recording {
    clock: Clock,
    redactor: Option<Redactor>,
    secrets: Arc<Secrets>,
    /// Where it is written, if it is.
    journal: Option<Mutex<Journal>>,
    session: Mutex<Option<String>>,
    exchanges: AtomicU64,
    stopping: AtomicBool,
}

/// Whether something is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Text,
}

impl Recording {
    pub(super) fn begin(options: BridgeOptions, secrets: Arc<Secrets>) -> Self {
        let clock = Clock::start();
        let live = options.live.and_then(|live| start_live(live, &options.warn));
        let url = options.url.to_string();
        let url = secrets.scrub_text(&redact_target(options.redactor.as_ref(), &url));
        let label = options.label.as_deref().map(name::clean_label).filter(|label| !label.is_empty());
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
            journal: journal.map(Mutex::new),
            session: Mutex::new(None),
            exchanges: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
        }
    }

    /// A URL as it may be shown.
    pub(super) fn clean_url(&self, url: &str) -> String {
        self.secrets.scrub_text(&redact_target(self.redactor.as_ref(), url))
    }

    /// The server has named the session.
    pub(super) fn set_session(&self, session: Option<&str>) {
        let redactor = self.redactor.as_ref();
        *lock(&self.session) = session.map(|name| self.secrets.scrub_text(&redact_name(redactor, name)));
    }

    /// From now on exchanges end because we do.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// A request is about to be sent.
    pub(super) fn exchange(
        self: &Arc<Self>,
        method: &Method,
        target: &str,
        headers: &http::HeaderMap,
    ) -> Exchange {
        let headers = Secrets::hidden(headers);
        let redactor = self.redactor.as_ref();
        let head = Head::request(
            method.as_str(),
            &redact_target(redactor, target),
            version(Version::HTTP_11),
            header_pairs(redactor, headers.iter()),
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

    /// Something that no exchange carries.
    pub(super) fn line(&self, dir: Direction, wire: Wire, bytes: &[u8]) {
        self.write(dir, wire, bytes, None);
    }

    /// The last line.
    pub(super) fn end(&self, reason: &str) -> RecordOutcome {
        let outcome = RecordOutcome { exit_code: 0, trace: None, lost: 0, spawn_error: None };
        let Some(journal) = &self.journal else { return outcome };
        let at = self.clock.now();
        let mut journal = lock(journal);
        journal.end(at, LineEnd { reason: Some(reason.to_owned()), ..LineEnd::default() });
        RecordOutcome { trace: journal.path().map(PathBuf::from), lost: journal.lost(), ..outcome }
    }

    fn head(&self, head: Head) -> Head {
        let head = redacted(self.redactor.as_ref(), head);
        match self.secrets.scrub_json(head.json()) {
            Cow::Borrowed(_) => head,
            Cow::Owned(clean) => Head::from_json(clean),
        }
    }

    /// What may be written, and what it is.
    fn clean<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, [u8]>, Kind) {
        if json::is_utf8(bytes)
            && let Some(clean) = self.clean_json(bytes)
        {
            return (clean, Kind::Message);
        }
        let redactor = self.redactor.as_ref();
        let clean = match self.secrets.scrub(bytes) {
            Cow::Borrowed(bytes) => redactor.map_or(Cow::Borrowed(bytes), |redactor| redactor.text(bytes)),
            Cow::Owned(bytes) => {
                let clean = redactor.map(|redactor| redactor.text(&bytes).into_owned());
                Cow::Owned(clean.unwrap_or(bytes))
            }
        };
        (clean, Kind::Text)
    }

    /// What may be written, if that is JSON.
    fn clean_json<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let redact = |bytes: &'a [u8]| match &self.redactor {
            Some(redactor) => redactor.json(bytes).ok(),
            None => json::validate(bytes).is_ok().then_some(Cow::Borrowed(bytes)),
        };
        match self.secrets.scrub_json(bytes) {
            Cow::Borrowed(bytes) => redact(bytes),
            // A value that is all digits may have stood where no string can.
            Cow::Owned(scrubbed) => match &self.redactor {
                Some(redactor) => redactor.json(&scrubbed).ok().map(|clean| Cow::Owned(clean.into_owned())),
                None => json::validate(&scrubbed).is_ok().then_some(Cow::Owned(scrubbed)),
            },
        }
    }

    fn write(&self, dir: Direction, wire: Wire, bytes: &[u8], http: Option<&[u8]>) {
        let Some(journal) = &self.journal else { return };
        let (clean, kind) = self.clean(bytes);
        let session = lock(&self.session).clone();
        let context = Context { wire, session: session.as_deref(), http, ..Context::default() };
        let observation = match kind {
            Kind::Message => Observation::Message { dir, context, raw: &clean },
            Kind::Text => Observation::Text { dir, context, text: &clean },
        };
        lock(journal).append(self.clock.now(), std::iter::once(observation));
    }
}

/// One exchange, as the trace sees it. How it ended is told when it is dropped, if no message has told.
pub(super) struct Exchange {
    recording: Arc<Recording>,
    x: u64,
    started: Instant,
    /// The heads, until they are written.
    request: Option<Head>,
    response: Option<Head>,
    /// A body that is no message.
    note: Option<BodyNote>,
    opened: bool,
    /// A line was written after which no other tells of the end.
    open_ended: bool,
    /// The exchange whose message this one sends again, until that is written.
    again: Option<u64>,
    ended: Option<Ended>,
    error: Option<String>,
}

impl Exchange {
    /// A line goes one way or the other.
    pub(super) fn line(&mut self, dir: Direction, wire: Wire, bytes: &[u8], sse: Option<&SseContext>) {
        self.open_ended |= sse.is_some();
        let http = self.context(&ExchangeNote { sse, ..ExchangeNote::default() });
        self.recording.write(dir, wire, bytes, Some(&http));
    }

    /// An answer of our own, in the server's stead.
    pub(super) fn own_answer(&mut self, bytes: &[u8]) {
        self.open_ended = true;
        let note = ExchangeNote { answers: Answers::Recorder, ..ExchangeNote::default() };
        let http = self.context(&note);
        self.recording.write(Direction::ServerToClient, Wire::default(), bytes, Some(&http));
    }

    /// A message of our own, in the client's stead.
    pub(super) fn own_message(&mut self, line: &Line) {
        let note = ExchangeNote { answers: Answers::Recorder, ..ExchangeNote::default() };
        let http = self.context(&note);
        self.recording.write(Direction::ClientToServer, line.wire, &line.bytes, Some(&http));
    }

    /// It sends again what another has sent, which the trace has already. That is told before the end of the other: what that one
    /// was answered is nothing to the message any more.
    pub(super) fn repeats(&mut self, other: &mut Exchange) {
        self.again = Some(other.x);
        self.http(&ExchangeNote::default());
        other.end(Ended::Complete, None);
    }

    /// The response's head has come.
    pub(super) fn answered(&mut self, parts: &response::Parts) {
        let redactor = self.recording.redactor.as_ref();
        let pairs = header_pairs(redactor, parts.headers.iter());
        let head = Head::response(parts.status.as_u16(), version(parts.version), pairs);
        self.response = Some(self.recording.head(head));
    }

    /// A stream has begun, which may be silent for long.
    pub(super) fn opened(&mut self) {
        self.opened = true;
        self.http(&ExchangeNote { ended: Some("open"), ..ExchangeNote::default() });
    }

    /// A body that is no message has come.
    pub(super) fn note(&mut self, body: &[u8]) {
        let (text, _) = self.recording.clean(&body[..body.len().min(MAX_NOTE)]);
        let text = (!text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned());
        self.note = Some(BodyNote { bytes: body.len() as u64, text });
    }

    /// It has ended.
    pub(super) fn end(&mut self, ended: Ended, error: Option<&str>) {
        self.ended.get_or_insert(ended);
        self.error = error
            .map(|error| String::from_utf8_lossy(&self.recording.clean(error.as_bytes()).0).into_owned());
    }

    fn context(&mut self, note: &ExchangeNote<'_>) -> Vec<u8> {
        let (request, response, again) = (self.request.take(), self.response.take(), self.again.take());
        let mut http = Vec::with_capacity(512);
        let (request, response) = (request.as_ref(), response.as_ref());
        ExchangeNote { x: self.x, request, response, again, ..note.clone() }.encode(&mut http);
        http
    }

    fn http(&mut self, note: &ExchangeNote<'_>) {
        let http = self.context(note);
        let recording = &self.recording;
        let Some(journal) = &recording.journal else { return };
        let session = lock(&recording.session).clone();
        let context = Context { session: session.as_deref(), http: Some(&http), ..Context::default() };
        let observation = std::iter::once(Observation::Http { context });
        lock(journal).append(recording.clock.now(), observation);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let stopping = self.recording.stopping.load(Ordering::Relaxed);
        let ended = self.ended.unwrap_or(if stopping { Ended::Stopped } else { Ended::ClientClosed });
        let untold = self.request.is_some()
            || self.response.is_some()
            || self.note.is_some()
            || self.opened
            || self.open_ended;
        if !untold && ended == Ended::Complete {
            return;
        }
        let (note, error) = (self.note.take(), self.error.take());
        let duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.http(&ExchangeNote {
            response_body: note.as_ref(),
            ended: Some(ended.name()),
            error: error.as_deref(),
            duration_us: Some(duration_us),
            ..ExchangeNote::default()
        });
    }
}
