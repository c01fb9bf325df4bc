//! The engine: reads a trace line by line, passes each to the rules, and then updates the session state.
//!
//! The order "check, then record" is what keeps the rules stateless and simple: a rule sees the session as it was before
//! the message, so "was this id used before?" is a lookup. It is also why a batch is checked payload by payload, each
//! against the state that the previous one left.
//!
//! Which request a response answers is decided by [`crate::reading`], as everywhere; the linter only keeps
//! [`KeptFacts`] with each pending call. Messages of the stateless revision (since 2026-07-28) and of the revisions with
//! sessions may be mixed in one trace, so the revision is determined per message ([`revision_of`]).
//!
//! Traces may be hostile. Everything that is kept beyond pending calls has a limit: [`MAX_SESSIONS`], [`MAX_PIECES`], and
//! those in [`super::session`].

use super::exchange::{Exchanges, SentPayload};
use super::report::{Findings, Report, Subject};
use super::revision::Revision;
use super::rule::{Check, Rule};
use super::schema;
use super::session::{
    Cancellation, ClientFeature, Initialize, KeptFacts, RareFacts, RequestFacts, Session, Token, TraceFacts,
    has,
};
use super::view::{ExchangeView, MessageView, PayloadView, Piece, TextView, TraceEnd, UnansweredCall};
use crate::call::Call;
use crate::reading::{Analysis, Cause, Closed, LineView, Meaning, Reading, RecordingState, Seen};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wiretape_trace::format::{End, HttpContext, Line, Message, Meta, OtherText, Record, Stamp};
use wiretape_trace::json;
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind};
use wiretape_trace::protocol::{header, meta_key};
use wiretape_trace::value::Value;

/// What to check, and how many findings to keep.
#[derive(Debug, Clone)]
pub struct LintOptions {
    /// Overrides the revision that the messages name.
    pub revision: Option<Revision>,
    /// The rules to check.
    pub rules: Vec<&'static Rule>,
    /// The number of findings to keep per rule; the rest are only counted. `None` keeps all.
    pub limit: Option<u64>,
}

/// Checks one trace against the rules.
///
/// ```
/// use wiretape_analyze::lint::{LintOptions, Linter, rules};
/// use wiretape_trace::format::TraceReader;
///
/// let trace = br#"{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{"jsonrpc":"2.0","id":null,"method":"ping"}}"#;
/// let options = LintOptions { revision: None, rules: rules::ALL.to_vec(), limit: None };
/// let mut linter = Linter::new(options);
/// let mut reader = TraceReader::new(&trace[..]);
/// while let Some(line) = reader.next_line().unwrap() {
///     linter.observe(&line);
/// }
/// let findings = linter.finish();
/// assert_eq!(findings.diagnostics[0].rule.name, "id-null");
/// assert_eq!(findings.diagnostics[0].pointer, "/raw/id");
/// ```
#[derive(Debug)]
pub struct Linter {
    reading: Reading<Linting>,
}

impl Linter {
    /// A linter before the first line of a trace.
    pub fn new(options: LintOptions) -> Self {
        Linter { reading: Reading::new(Linting::new(options)) }
    }

    /// Checks the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        self.reading.observe(line);
    }

    /// The findings, after the last line.
    pub fn finish(self) -> Findings {
        self.reading.finish(RecordingState::Over).finish()
    }
}

/// The linter as an [`Analysis`]: everything it remembers between lines.
#[derive(Debug)]
struct Linting {
    options: LintOptions,
    rules: RulesByKind,
    trace: TraceFacts,
    sessions: BTreeMap<String, Session>,
    /// The keys of `sessions`, oldest first, for eviction.
    session_order: VecDeque<String>,
    exchanges: Exchanges,
    pieces: BTreeMap<Direction, Vec<u8>>,
    us: Option<u64>,
    /// The key of the current line's session.
    key: String,
    /// The line of the pending request whose id the current request reuses.
    displaced: Option<u64>,
    end: Option<(u64, End)>,
    last_stderr: Option<String>,
    findings: Findings,
}

/// Sessions kept at a time; the oldest is evicted. A proxy's trace may hold many thousands.
const MAX_SESSIONS: usize = 2_000;
/// Bytes of JSON spread over several lines that are joined to find out where it ends.
const MAX_PIECES: usize = 1024 * 1024;

impl Linting {
    fn new(options: LintOptions) -> Self {
        let findings = Findings::with_limit(options.limit);
        Linting {
            rules: RulesByKind::new(&options.rules),
            options,
            trace: TraceFacts::default(),
            sessions: BTreeMap::new(),
            session_order: VecDeque::new(),
            exchanges: Exchanges::default(),
            pieces: BTreeMap::new(),
            us: None,
            key: String::new(),
            displaced: None,
            end: None,
            last_stderr: None,
            findings,
        }
    }

    fn finish(mut self) -> Findings {
        // The map is ordered, so the findings at the end are deterministic.
        let sessions = self.sessions.values().collect();
        let end = self.end.as_ref().map(|(line, end)| (*line, end));
        let last_stderr = self.last_stderr.as_deref();
        let end = TraceEnd { trace: &self.trace, sessions, end, last_stderr };
        for &rule in &self.options.rules {
            if let Check::End(check) = rule.check {
                check(&end, &mut Report::new(rule, None, "", &mut self.findings));
            }
        }
        self.findings
    }

    fn meta(&mut self, meta: &Meta) {
        // A later part starts in the middle of a session; rules that need its beginning would report what the first
        // part has.
        self.trace.from_start = meta.part.is_none();
        self.trace.imported = meta.imported.is_some();
        self.trace.http = meta.transport.as_deref() == Some("http");
    }

    /// An id in the form in which calls are matched. Imported transcripts don't always keep numbers and strings apart.
    fn id_key(&self, id: Id<'_>) -> Id<'static> {
        match id.into_owned() {
            Id::Number(text) if self.trace.imported => Id::String(text),
            id => id.by_value(),
        }
    }

    fn message(&mut self, view: &LineView<'_, '_>, message: &Message<'_>) {
        // An unknown direction (invariant 10) has no requirements to check.
        let Some(direction) = message.dir.known() else { return };
        let http = view.http();
        if let Some(http) = http {
            self.exchanges.record_line(view.line.number, http);
        }
        let key = self.session_key(message.session.as_deref());
        self.show_message(view.line, message, direction, http, &key);
        self.key = key;
    }

    /// Checks a call that has no answer at the end of the trace.
    fn unanswered(&mut self, closed: &Closed<'_, '_>, kept: &KeptFacts) {
        let request = &RequestFacts::new(closed.call, kept);
        let exchange = closed.call.exchange.and_then(|x| self.exchanges.get(x));
        let call = UnansweredCall { trace: &self.trace, call: closed.call, request, exchange, us: self.us };
        for &rule in &self.rules.unanswered {
            if let Check::Unanswered(check) = rule.check {
                check(&call, &mut Report::new(rule, None, "", &mut self.findings));
            }
        }
    }

    fn count_event(&mut self, http: Option<&HttpContext>) {
        let Some(http) = http.filter(|http| http.sse.is_some()) else { return };
        if let Some(exchange) = self.exchanges.get_mut(http.x) {
            exchange.events += 1;
        }
    }

    fn show_message(
        &mut self,
        line: &Line<'_>,
        message: &Message<'_>,
        direction: Direction,
        http: Option<&HttpContext>,
        key: &str,
    ) {
        let wire = wire_of(line.bytes, message.raw);
        let session = &self.sessions[key];
        let exchange = http.and_then(|http| self.exchanges.get(http.x));
        // The line as a whole may be a batch, so no single payload's revision applies to it.
        let header = self.exchanges.revision(http);
        let revision = self.options.revision.or_else(|| revision_around(session, header));
        let view = MessageView {
            trace: &self.trace,
            session,
            revision,
            direction,
            raw: message.raw,
            wire: &wire,
            exchange,
            http,
        };
        let subject = Subject { line: line.number, seq: message.stamp.seq, bytes: line.bytes };
        for &rule in self.rules.message.iter().filter(|rule| rule.revisions.hold_for(revision)) {
            if let Check::Message(check) = rule.check {
                check(&view, &mut Report::new(rule, Some(subject), "/raw", &mut self.findings));
            }
        }
        // After the rules, which would otherwise find every event id to be a repetition of itself.
        if let Some(id) = http.and_then(|http| http.sse.as_ref()).and_then(|sse| sse.id.as_deref()) {
            self.session_mut(key).event_ids.insert(id);
        }
    }

    fn payload(
        &mut self,
        place: &PayloadContext<'_>,
        raw: &[u8],
        envelope: &Envelope<'_>,
        meaning: Meaning,
        calls: CallOfPayload<'_>,
    ) {
        let displaced = self.displaced.take();
        let (request, own) = match calls {
            CallOfPayload::Answered(call, kept) => (Some(RequestFacts::new(call, kept)), None),
            CallOfPayload::Begun(own) => (None, Some(own)),
            CallOfPayload::None => (None, None),
        };
        // Before the checks: rules of this payload look up its own exchange.
        self.record_sent(place, envelope);
        let exchange = place.http.and_then(|http| self.exchanges.get(http.x));
        let session = &self.sessions[place.key];
        let around = revision_around(session, self.exchanges.revision(place.http));
        let revision = self
            .options
            .revision
            .or_else(|| revision_of(place, envelope, session, request.as_ref(), exchange, around));
        let view = PayloadView {
            trace: &self.trace,
            session,
            exchange,
            http: place.http,
            stamp: place.stamp,
            direction: place.direction,
            raw,
            envelope,
            meaning,
            displaced,
            revision,
            request: request.as_ref(),
            in_batch: place.in_batch,
            parsed: Default::default(),
        };
        let subject = Subject { line: place.line.number, seq: place.stamp.seq, bytes: place.line.bytes };
        for &rule in self.rules.payload.iter().filter(|rule| rule.revisions.hold_for(revision)) {
            if let Check::Payload(check) = rule.check {
                check(&view, &mut Report::new(rule, Some(subject), &place.base, &mut self.findings));
            }
        }
        // The views borrow the session; their results are owned from here on, so that the session can be changed.
        let details = RequestDetails::of(&view);
        let speaks_stateless = super::rules::speaks_stateless(&view);
        self.session_mut(place.key).server_is_stateless |= speaks_stateless;
        self.record_payload(place, envelope, CheckedPayload { details, request, revision, own });
    }

    /// Records which payload the body of an HTTP request holds.
    fn record_sent(&mut self, place: &PayloadContext<'_>, envelope: &Envelope<'_>) {
        let around = revision_around(&self.sessions[place.key], self.exchanges.revision(place.http));
        let Some(http) = place.http.filter(|_| place.direction == Direction::ClientToServer) else { return };
        // If a batch holds a request, the response must be as for a request (2025-03-26, transports).
        let is_replaced =
            |sent: &SentPayload| sent.kind != MessageKind::Request && envelope.kind == MessageKind::Request;
        let exchange = self.exchanges.get_mut(http.x);
        let Some(exchange) = exchange.filter(|exchange| exchange.sent.as_ref().is_none_or(is_replaced))
        else {
            return;
        };
        let revision = own_revision(envelope).or(around);
        let method = envelope.method.as_deref().map(str::to_owned);
        exchange.sent = Some(SentPayload { kind: envelope.kind, method, revision });
    }

    /// Updates the session after the rules have checked a payload.
    fn record_payload(
        &mut self,
        place: &PayloadContext<'_>,
        envelope: &Envelope<'_>,
        checked: CheckedPayload<'_, '_>,
    ) {
        let line = place.line.number;
        let key = place.key.to_owned();
        match envelope.kind {
            MessageKind::Request => self.record_request(place, envelope, checked),
            MessageKind::Response => {
                if let Some(request) = checked.request {
                    self.record_answer(place, envelope, &request);
                }
            }
            MessageKind::Notification => record_notification(self.session_mut(&key), place, envelope, line),
            MessageKind::Batch | MessageKind::NotJsonRpc => {}
        }
    }

    fn record_request(
        &mut self,
        place: &PayloadContext<'_>,
        envelope: &Envelope<'_>,
        checked: CheckedPayload<'_, '_>,
    ) {
        let line = place.line.number;
        let id = envelope.id.clone().map(|id| self.id_key(id));
        let token = envelope.progress_token.clone().map(Id::into_owned);
        let exchange = place.http.map(|http| http.x);
        let method = envelope.method.as_deref().unwrap_or_default();
        let session = self.session_mut(place.key);
        // Sticky: a client that once named a stateless revision is not expected to initialize (2026-07-28 removed
        // `initialize`).
        session.stateless |= own_revision(envelope).is_some_and(Revision::is_stateless);
        if place.direction == Direction::ClientToServer {
            record_client_request(session, (line, place.stamp.seq), method, checked.revision);
        }
        if let Some(token) = token {
            let new = Token { line, exchange, progress: None, done: None };
            session.tokens.begin(place.direction, token, new);
        }
        if let Some(id) = id {
            session.ids.entry(place.direction).or_default().insert(&id);
            if method == "subscriptions/listen" {
                session.subscriptions.insert(id.clone(), None);
            }
            if let Some(own) = checked.own {
                *own = checked.details.into_kept(envelope, checked.revision);
            }
        }
    }

    fn record_answer(
        &mut self,
        place: &PayloadContext<'_>,
        envelope: &Envelope<'_>,
        request: &RequestFacts<'_>,
    ) {
        let line = place.line.number;
        let id = envelope.id.clone().map(|id| self.id_key(id));
        let key = match (&request.initialize, place.session) {
            // The server assigns the session with its response, so the request had none.
            (Some(_), Some(_)) => self.begin_session(place.session),
            _ => place.key.to_owned(),
        };
        let result = envelope.result.and_then(|raw| Value::parse(raw).ok());
        let session = self.session_mut(&key);
        // A task keeps its token: progress continues after the request is answered (2025-11-25, tasks).
        let is_task = result.is_some_and(|result| result.get("task").is_some());
        if let Some(token) = request.token.filter(|_| !is_task) {
            session.tokens.finish(place.direction.reverse(), token, line);
        }
        if let Some(id) = &id {
            // The answer to `subscriptions/listen` ends it (2026-07-28): its messages come before the result.
            session.subscriptions.remove(id);
            session.cancelled.remove(&(place.direction.reverse(), id.clone()));
        }
        let Some(result) = result else { return };
        if let Some(initialize) = request.initialize {
            record_agreement(session, line, request, initialize, result);
        }
        if request.method == "tools/list" {
            session.tools.list(line, result, request.cursor.is_none());
        }
        if request.method == "server/discover" {
            session.server_capabilities =
                result.get("capabilities").and_then(|value| schema::tree(value.raw));
        }
        record_round_trip(session, line, request, result, id);
    }

    fn begin_session(&mut self, id: Option<&str>) -> String {
        let key = self.session_key(id);
        // The request was recorded in the nameless session, because its session did not exist yet.
        let pending = std::mem::take(&mut self.session_mut("").initialize);
        let session = self.session_mut(&key);
        session.initialize = session.initialize.or(pending);
        key
    }

    fn text(&mut self, view: &LineView<'_, '_>, text: &OtherText<'_>) {
        let (line, http) = (view.line, view.http());
        if let Some(http) = http {
            let new = self.exchanges.record_line(line.number, http);
            let event = http.sse.as_ref().and_then(|sse| sse.event.as_deref());
            self.trace.http_sse |= event == Some("endpoint");
            let session = Value::parse(line.bytes).ok().and_then(|value| value.get("session")?.string());
            let key = self.session_key(session.as_deref());
            // An exchange is checked once, when its response's head is known: most rules compare request and
            // response.
            if new {
                self.show_exchange(line, text.stamp.seq, &key, http);
            }
            if let Some(id) = http.sse.as_ref().and_then(|sse| sse.id.as_deref()) {
                self.session_mut(&key).event_ids.insert(id);
            }
        }
        let Some(direction) = text.dir.known() else { return };
        // Over HTTP, bodies and events delimit messages, so newlines inside of JSON are allowed there.
        let piece = if http.is_some() { Piece::None } else { self.piece(direction, &text.text) };
        let view = TextView {
            trace: &self.trace,
            direction,
            text: &text.text,
            is_binary: Value::parse(line.bytes).is_ok_and(|value| value.get("base64").is_some()),
            piece,
            exchange: http.and_then(|http| self.exchanges.get(http.x)),
            http,
        };
        let subject = Subject { line: line.number, seq: text.stamp.seq, bytes: line.bytes };
        for &rule in &self.options.rules {
            if let Check::Text(check) = rule.check {
                check(&view, &mut Report::new(rule, Some(subject), "/text", &mut self.findings));
            }
        }
        self.count_event(http);
    }

    /// Whether a line is a fragment of JSON that spans several lines.
    fn piece(&mut self, direction: Direction, text: &str) -> Piece {
        let pieces = self.pieces.entry(direction).or_default();
        let is_first = pieces.is_empty();
        if is_first && !text.trim_start().starts_with(['{', '[']) {
            return Piece::None;
        }
        pieces.extend_from_slice(text.as_bytes());
        pieces.push(b'\n');
        let (goes_on, is_whole) = match json::validate(pieces) {
            // Only an error at the very end means "incomplete": an earlier one can't be cured by more lines.
            Err(error) => (error.offset >= pieces.len() && pieces.len() < MAX_PIECES, false),
            Ok(()) => (false, true),
        };
        if !goes_on {
            pieces.clear();
        }
        match (goes_on, is_whole) {
            (true, _) if is_first => Piece::First,
            // A complete value on one line is not a fragment: it was recorded as text for another reason, such as
            // bytes that are not UTF-8.
            (true, _) | (_, true) if !is_first => Piece::Later,
            _ => Piece::None,
        }
    }

    fn exchange(&mut self, line: &Line<'_>, seq: Option<u64>, session: Option<&str>, http: &HttpContext) {
        let new = self.exchanges.record_line(line.number, http);
        let key = self.session_key(session);
        if new {
            self.show_exchange(line, seq, &key, http);
        }
    }

    fn show_exchange(&mut self, line: &Line<'_>, seq: Option<u64>, key: &str, http: &HttpContext) {
        let Some(exchange) = self.exchanges.get(http.x) else { return };
        let session = &self.sessions[key];
        let revision = self.options.revision.or_else(|| {
            let sent = exchange.sent.as_ref().and_then(|sent| sent.revision);
            sent.or_else(|| exchange.revision()).or(session.revision)
        });
        let view = ExchangeView { trace: &self.trace, session, exchange, http, revision };
        let subject = Subject { line: line.number, seq, bytes: line.bytes };
        for &rule in self.rules.exchange.iter().filter(|rule| rule.revisions.hold_for(revision)) {
            if let Check::Exchange(check) = rule.check {
                check(&view, &mut Report::new(rule, Some(subject), "/http", &mut self.findings));
            }
        }
        let (method, status) = (exchange.method().to_owned(), exchange.status());
        let names_session = exchange.request_header(header::SESSION_ID).is_some();
        let session = self.session_mut(key);
        match status {
            // The first one counts: later requests are judged against the moment when the session ended.
            Some(200..300) if method == "DELETE" => session.deleted = session.deleted.or(Some(line.number)),
            Some(404) if names_session => session.not_found = session.not_found.or(Some(line.number)),
            _ => {}
        }
    }

    fn session_key(&mut self, id: Option<&str>) -> String {
        let key = id.unwrap_or_default();
        if !self.sessions.contains_key(key) {
            let session = Session { id: id.map(str::to_owned), ..Session::default() };
            self.sessions.insert(key.to_owned(), session);
            // The nameless session is never evicted: on stdio it is the only one, over HTTP it holds every client
            // without a session.
            if !key.is_empty() {
                self.session_order.push_back(key.to_owned());
            }
            if self.session_order.len() > MAX_SESSIONS
                && let Some(oldest) = self.session_order.pop_front()
            {
                self.sessions.remove(&oldest);
            }
        }
        key.to_owned()
    }

    fn session_mut(&mut self, key: &str) -> &mut Session {
        self.sessions.entry(key.to_owned()).or_default()
    }
}

impl Analysis for Linting {
    /// What is kept of a request until its response.
    type PerCall = KeptFacts;

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        self.us = view.line.record.stamp().and_then(|stamp| stamp.us).or(self.us);
        match &view.line.record {
            Record::Meta(meta) => self.meta(meta),
            Record::Message(message) => self.message(view, message),
            Record::Text(text) => self.text(view, text),
            Record::Gap(_) | Record::Damaged(_) => self.trace.lossy = true,
            Record::End(end) => self.end = Some((view.line.number, end.clone())),
            Record::Stderr(text) if !text.text.trim().is_empty() => {
                // Servers print their reason before they crash; a rule at the end quotes it. Cut, because a line may
                // be megabytes long.
                self.last_stderr = Some(text.text.trim().chars().take(200).collect());
            }
            Record::Http(_) | Record::Stderr(_) | Record::Rotated { .. } | Record::Unknown { .. } => {}
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let (Some(direction), Record::Message(message)) = (seen.direction, &seen.line.line.record) else {
            return;
        };
        let in_batch = wiretape_trace::message::is_batch(message.raw);
        // Moved out, because `place` borrows it while `payload` needs all of `self`.
        let key = std::mem::take(&mut self.key);
        let place = PayloadContext {
            line: seen.line.line,
            stamp: &message.stamp,
            direction,
            http: seen.line.http(),
            session: message.session.as_deref(),
            key: &key,
            base: if in_batch { format!("/raw/{}", seen.index) } else { "/raw".to_owned() },
            in_batch,
        };
        let calls = match (own, seen.meaning, seen.answers) {
            (Some(own), _, Some(call)) => CallOfPayload::Answered(call, own),
            (Some(own), Meaning::Request { .. }, None) => CallOfPayload::Begun(own),
            _ => CallOfPayload::None,
        };
        self.payload(&place, seen.raw, seen.envelope, seen.meaning, calls);
        self.key = key;
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, request: Self::PerCall) {
        match closed.cause {
            // Reported by the new request, whose `seen` follows this call: the displaced one broke no rule.
            Cause::Id => self.displaced = closed.call.id.as_ref().map(|_| closed.call.request.line),
            Cause::End => self.unanswered(closed, &request),
            _ => {}
        }
    }

    fn end_line(&mut self, view: &LineView<'_, '_>) {
        match &view.line.record {
            Record::Message(message) if message.dir.known().is_some() => {
                // At the end of the line, because the rules for exchanges need the payload of this very line
                // (`sent`).
                if let Some(http) = view.http().filter(|http| http.response.is_some()) {
                    let key = self.key.clone();
                    self.show_exchange(view.line, message.stamp.seq, &key, http);
                }
                self.count_event(view.http());
            }
            Record::Http(exchange) => {
                if let Some(http) = view.http() {
                    self.exchange(view.line, exchange.stamp.seq, exchange.session.as_deref(), http);
                }
            }
            _ => {}
        }
    }
}

/// The rules by their kind of check, so that a payload isn't matched against every rule.
#[derive(Debug, Default)]
struct RulesByKind {
    payload: Vec<&'static Rule>,
    message: Vec<&'static Rule>,
    exchange: Vec<&'static Rule>,
    unanswered: Vec<&'static Rule>,
}

impl RulesByKind {
    fn new(rules: &[&'static Rule]) -> Self {
        let of = |is: fn(&Check) -> bool| rules.iter().copied().filter(|rule| is(&rule.check)).collect();
        RulesByKind {
            payload: of(|check| matches!(check, Check::Payload(_))),
            message: of(|check| matches!(check, Check::Message(_))),
            exchange: of(|check| matches!(check, Check::Exchange(_))),
            unanswered: of(|check| matches!(check, Check::Unanswered(_))),
        }
    }
}

/// A payload's position and surroundings.
struct PayloadContext<'a> {
    line: &'a Line<'a>,
    stamp: &'a Stamp<'a>,
    direction: Direction,
    http: Option<&'a HttpContext>,
    session: Option<&'a str>,
    key: &'a str,
    base: String,
    in_batch: bool,
}

/// The call that a payload begins or answers.
enum CallOfPayload<'n> {
    Begun(&'n mut KeptFacts),
    Answered(&'n Call, &'n KeptFacts),
    None,
}

/// The results of checking a payload, besides the findings.
struct CheckedPayload<'r, 'n> {
    details: RequestDetails,
    request: Option<RequestFacts<'r>>,
    revision: Option<Revision>,
    /// The slot for the request's facts in its pending call.
    own: Option<&'n mut KeptFacts>,
}

/// What to keep of a request. Collected before the session is borrowed mutably.
#[derive(Default)]
struct RequestDetails {
    name: Option<String>,
    cursor: Option<String>,
    initialize: Option<Initialize>,
    features: Option<BTreeSet<ClientFeature>>,
    misfit: Option<String>,
}

impl RequestDetails {
    fn of(view: &PayloadView<'_>) -> Self {
        if view.envelope.kind != MessageKind::Request {
            return RequestDetails::default();
        }
        let Some(params) = view.params() else { return RequestDetails::default() };
        // Only what later messages are checked against is kept: the params of a long session would not fit in memory.
        let text = |name: &str| params.get(name).and_then(Value::string).map(std::borrow::Cow::into_owned);
        let is_initialize = view.is_request("initialize");
        RequestDetails {
            // The same member that `Mcp-Name` repeats (2026-07-28): a tool's or prompt's name, or a resource's URI.
            name: text("name").or_else(|| text("uri")),
            cursor: text("cursor"),
            initialize: is_initialize.then(|| {
                let capabilities = params.get("capabilities").and_then(|value| schema::tree(value.raw));
                Initialize { version: text("protocolVersion"), capabilities }
            }),
            // Since 2026-07-28, the client declares its capabilities with every request, not once per session.
            features: params
                .at_path(&["_meta", meta_key::CLIENT_CAPABILITIES])
                .and_then(|value| schema::tree(value.raw))
                .map(|capabilities| {
                    [ClientFeature::Sampling, ClientFeature::Elicitation, ClientFeature::Roots]
                        .into_iter()
                        .filter(|feature| has(&capabilities, &[feature.name()]))
                        .collect()
                }),
            // Kept for the response: a server that accepts invalid arguments is a finding of its own.
            misfit: super::rules::argument_misfits(view).into_iter().next().map(|misfit| misfit.message),
        }
    }

    fn into_kept(self, envelope: &Envelope<'_>, revision: Option<Revision>) -> KeptFacts {
        let rare = RareFacts {
            // The call has the name of a tool.
            name: self.name.filter(|name| envelope.tool() != Some(name)),
            token: envelope.progress_token.clone().map(Id::into_owned),
            cursor: self.cursor,
            initialize: self.initialize,
            features: self.features,
            misfit: self.misfit,
        };
        let is_rare = rare != RareFacts::default();
        KeptFacts { revision, rare: is_rare.then(|| Box::new(rare)) }
    }
}

/// The revision that a message itself names: `_meta` (2026-07-28) or `initialize` (earlier).
fn own_revision(envelope: &Envelope<'_>) -> Option<Revision> {
    let params = Value::parse(envelope.params?).ok()?;
    let meta = params.at_path(&["_meta", meta_key::PROTOCOL_VERSION]).and_then(Value::string);
    let requested =
        || params.get("protocolVersion").filter(|_| envelope.method.as_deref() == Some("initialize"));
    meta.or_else(|| requested()?.string()).and_then(|version| Revision::parse(&version))
}

/// The revision that applies to a message. A response follows its request; a request names its own; anything else follows its
/// HTTP exchange, then its session.
fn revision_of(
    place: &PayloadContext<'_>,
    envelope: &Envelope<'_>,
    session: &Session,
    request: Option<&RequestFacts<'_>>,
    exchange: Option<&super::exchange::Exchange>,
    around: Option<Revision>,
) -> Option<Revision> {
    if let Some(request) = request {
        let agreed = || Value::parse(envelope.result?).ok()?.get("protocolVersion")?.string();
        let agreed = request.initialize.and_then(|_| agreed()).and_then(|name| Revision::parse(&name));
        // From the answer to `initialize` on, the server's choice holds, not the client's request.
        return agreed.or(request.revision);
    }
    if place.direction == Direction::ClientToServer && envelope.params.is_some() {
        let own = own_revision(envelope);
        // `initialize` requests a revision, whatever the session used before. An unknown one must stay unknown:
        // falling back to the session's would check it by the wrong rules.
        if own.is_some() || envelope.method.as_deref() == Some("initialize") {
            return own;
        }
    }
    let sent = exchange.and_then(|exchange| exchange.sent.as_ref()).and_then(|sent| sent.revision);
    let stateless = (session.stateless && session.initialize.is_none()).then_some(Revision::V2026_07_28);
    sent.or(around).or(stateless)
}

/// The revision of a message that names none. Several clients without a session id may share a trace, and then only the
/// header shows which of them sent it.
fn revision_around(session: &Session, header: Option<Revision>) -> Option<Revision> {
    match session.id {
        // With a session id, the negotiated revision is certain, and a header that differs from it is itself a
        // finding.
        Some(_) => session.revision.or(header),
        None => header.or(session.revision),
    }
}

fn record_client_request(
    session: &mut Session,
    (line, seq): (u64, Option<u64>),
    method: &str,
    revision: Option<Revision>,
) {
    if method == "initialize" {
        // A repeated `initialize` replaces the first one here; that it was repeated is the finding of another rule.
        session.initialize = Some(line);
        return;
    }
    if session.initialize.is_none() {
        session.first_request = session.first_request.or(Some(line));
    } else if session.agreed.is_some()
        // Pings are allowed before `notifications/initialized` (2024-11-05 to 2025-11-25, lifecycle).
        && method != "ping"
        && !revision.is_some_and(Revision::is_stateless)
    {
        session.first_operation = session.first_operation.or(Some((line, seq)));
    }
}

fn record_notification(
    session: &mut Session,
    place: &PayloadContext<'_>,
    envelope: &Envelope<'_>,
    line: u64,
) {
    let params = envelope.params.and_then(|raw| Value::parse(raw).ok());
    match envelope.method.as_deref() {
        Some("notifications/initialized") => session.initialized = session.initialized.or(Some(line)),
        // From here on, a call of an unlisted tool is not a finding: the server may have added it.
        Some("notifications/tools/list_changed") => session.tools.changed(),
        Some("notifications/progress") => {
            let progress = params.and_then(|params| number(params.get("progress")?));
            if let (Some(token), Some(progress)) = (&envelope.progress_token, progress) {
                // Progress goes against the direction of the request that carried the token.
                session.tokens.progress(place.direction.reverse(), token, progress);
            }
        }
        Some("notifications/cancelled") => {
            if let Some(id) = params.and_then(|params| id_of(params.get("requestId")?)) {
                let cancelled = Cancellation { line, us: place.stamp.us };
                // By direction, because both sides number their requests on their own.
                session.cancelled.insert((place.direction, id), cancelled);
            }
        }
        Some("notifications/subscriptions/acknowledged") => {
            let id = params.and_then(|params| id_of(params.at_path(&["_meta", meta_key::SUBSCRIPTION_ID])?));
            if let Some(acknowledged) = id.and_then(|id| session.subscriptions.get_mut(&id)) {
                *acknowledged = acknowledged.or(Some(line));
            }
        }
        _ => {}
    }
}

fn record_agreement(
    session: &mut Session,
    line: u64,
    request: &RequestFacts<'_>,
    initialize: &Initialize,
    result: Value<'_>,
) {
    let version = result.get("protocolVersion").and_then(Value::string);
    session.initialize = session.initialize.or(Some(request.line));
    session.agreed = Some(line);
    session.revision = version.as_deref().and_then(Revision::parse);
    session.version = version.map(std::borrow::Cow::into_owned);
    session.client_capabilities.clone_from(&initialize.capabilities);
    session.server_capabilities = result.get("capabilities").and_then(|value| schema::tree(value.raw));
}

fn record_round_trip(
    session: &mut Session,
    line: u64,
    request: &RequestFacts<'_>,
    result: Value<'_>,
    id: Option<Id<'static>>,
) {
    // Multi-round-trip requests exist since 2026-07-28; before, a server asked with a request of its own.
    if !request.revision.is_some_and(Revision::is_stateless) {
        return;
    }
    let subject = subject_of(request.method, request.name);
    if result.get("resultType").and_then(Value::string).as_deref() == Some("input_required") {
        let state = result.get("requestState").and_then(Value::string);
        session.states.record_pending(subject, state.as_deref(), id, line);
    } else {
        session.states.complete(&subject);
    }
}

/// The key of a multi-round-trip request: a retry has a new id but the same method and name.
pub(crate) fn subject_of(method: &str, name: Option<&str>) -> String {
    format!("{method} {}", name.unwrap_or_default())
}

/// A JSON number as a float: progress may be a fraction.
pub(crate) fn number(value: Value<'_>) -> Option<f64> {
    std::str::from_utf8(value.raw).ok()?.parse().ok()
}

/// A JSON string or number as an id.
pub(crate) fn id_of(value: Value<'_>) -> Option<Id<'static>> {
    if let Some(text) = value.string() {
        return Some(Id::String(text.into_owned().into()));
    }
    let digits = std::str::from_utf8(value.raw).ok()?;
    digits.parse::<f64>().is_ok().then(|| Id::Number(digits.to_owned().into()))
}

/// The `wire` words of a line, such as `bom`. Few lines have any, so a substring search decides whether to parse at all.
fn wire_of(line: &[u8], raw: &[u8]) -> Vec<String> {
    let around = line.len().saturating_sub(raw.len());
    // `wire` precedes `raw` in the lines we write; with more than this around the payload, the line isn't one of
    // them.
    if around > 4096 || !contains(&line[..around.min(line.len())], b"\"wire\"") {
        return Vec::new();
    }
    let mut words = Vec::new();
    if let Some(wire) = Value::parse(line).ok().and_then(|value| value.get("wire")) {
        wire.elements(|element| words.extend(element.string().map(std::borrow::Cow::into_owned)));
    }
    words
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}
