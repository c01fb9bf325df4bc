//! Interprets one exchange: its calls and their answers, its outcome, and the event made of it. What needs
//! more than one exchange (sessions, late answers, changed lists) is left to the other modules.

use super::project;
use super::snapshot::listing;
use crate::event::{EventId, LoggedCall, LoggedRequest, LoggedResponse, RequestEvent, Span, VERSION};
use crate::line::LineWhat;
use crate::raw::Raw;
use crate::transaction::{Streamed, Transaction};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use wiretape_analyze::call::{ClosingMeans, Outcome};
use wiretape_analyze::definitions::Page;
use wiretape_trace::format::{Ended, Head};
use wiretape_trace::message::{Envelope, Id, MessageKind, payloads};
use wiretape_trace::protocol::{Revision, cancellation, handshake_version, method, request_version};
use wiretape_trace::value::Value;

/// The length at which error texts are cut, in bytes.
const MAX_ERROR: usize = 500;

/// An exchange, and the meaning of its messages.
pub(super) struct Observed {
    pub(super) transaction: Transaction,
    pub(super) calls: Vec<Call>,
    is_batch: bool,
    pub(super) status: Outcome,
    error_code: Option<i64>,
    error_message: Option<String>,
    pub(super) session: Option<Arc<str>>,
    pub(super) protocol_version: Option<Arc<str>>,
    openai: Option<Raw>,
}

/// One message of a request, with its answer.
pub(super) struct Call {
    pub(super) kind: MessageKind,
    pub(super) id: Option<Id<'static>>,
    pub(super) method: Arc<str>,
    pub(super) tool: Option<Arc<str>>,
    pub(super) message: Bytes,
    pub(super) answer: Option<Answer>,
}

/// A response, and the outcome it states.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) message: Bytes,
    verdict: Verdict,
}

/// The outcome of a call, according to its response.
#[derive(Clone)]
pub(crate) struct Verdict {
    pub(crate) status: Outcome,
    pub(crate) error_code: Option<i64>,
    pub(crate) error_message: Option<String>,
}

impl Observed {
    pub(super) fn of(mut transaction: Transaction) -> Self {
        let request = transaction.request.take();
        // A response that the proxy made up itself (for an unreachable server, say) is not the server's
        // answer.
        let is_own = transaction.timings.answered_us.is_none();
        let response = transaction.response.take().filter(|_| !is_own);
        let mut answers = UnmatchedAnswers::of(response);
        let is_batch = request.as_ref().is_some_and(|request| request.first() == Some(&b'['));
        let mut calls: Vec<Call> = request.map(split).unwrap_or_default().into_iter().map(Call::of).collect();
        for call in &mut calls {
            call.answer = call.take_answer(&mut answers);
        }
        refuse(&mut calls, answers);
        // A response that answers none of its calls doesn't end them; the proxy's own does, as it does in the trace.
        if !is_own && calls.iter().all(|call| call.answer.is_none()) {
            transaction.timings.answer_at = None;
        }
        let protocol_version = protocol_version(&transaction, &calls);
        let openai = calls.first().and_then(|call| openai(&call.message));
        let mut observed = Observed {
            transaction,
            calls,
            is_batch,
            status: Outcome::Ok,
            error_code: None,
            error_message: None,
            session: None,
            protocol_version,
            openai,
        };
        observed.judge();
        observed
    }

    /// Sets the revision that the session agreed on, if the exchange itself has none.
    pub(super) fn learn_version(&mut self, version: Option<&Arc<str>>) {
        if self.protocol_version.is_none() {
            self.protocol_version = version.cloned();
        }
    }

    /// The duration of its call: from the request's message to its answer, or to the end if there is none. Other
    /// exchanges last as a whole.
    fn call_us(&self) -> u64 {
        let timings = &self.transaction.timings;
        let asked_at = timings.asked_at.filter(|_| self.has_request());
        asked_at.map_or(timings.ended_us, |asked_at| self.answered_at().saturating_sub(asked_at))
    }

    fn has_request(&self) -> bool {
        self.calls.iter().any(|call| call.kind == MessageKind::Request)
    }

    /// When its message was observed, on the clock that all exchanges share.
    pub(super) fn sent_at(&self) -> u64 {
        let timings = &self.transaction.timings;
        timings.asked_at.unwrap_or(timings.started.us)
    }

    /// Whether at least one of its requests has an answer.
    pub(super) fn is_answered(&self) -> bool {
        self.calls.iter().any(|call| call.answer.is_some())
    }

    /// Marks the request as cancelled by the client at `sent`, before there was an answer.
    pub(super) fn mark_cancelled(&mut self, outcome: Outcome, sent: u64) {
        // A call lasts until it is cancelled, as in a trace. Its stream may stay open for long.
        self.end_at(sent);
        self.status = outcome;
        self.error_message = Some("cancelled by the client".to_owned());
    }

    /// Adds an answer that arrived on another stream, shortly before or any time after the end of the
    /// exchange.
    pub(super) fn answer_late(&mut self, streamed: Streamed) {
        // The duration becomes that of the answer, as if it had arrived in the request's own response.
        self.end_at(streamed.at.us);
        let timings = &mut self.transaction.timings;
        timings.responded_us = Some(timings.ended_us);
        timings.answer_at = Some(streamed.at.us);
        // The bytes before it were the body of the POST (`Accepted`), which isn't the answer.
        timings.first_byte_us = Some(timings.ended_us);
        self.transaction.response_bytes = streamed.message.len() as u64;
        if let Some(call) = self.calls.first_mut() {
            call.answer = Some(Answer::of(streamed.message));
        }
        self.protocol_version = protocol_version(&self.transaction, &self.calls);
        self.judge();
    }

    /// Moves the end of the exchange to this time, in microseconds of its own clock.
    fn end_at(&mut self, at: u64) {
        let timings = &mut self.transaction.timings;
        timings.ended_us = at.saturating_sub(timings.started.us);
        timings.answer_at = timings.answer_at.map(|answer_at| answer_at.min(at));
        // What the upstream did after the end is not part of the call.
        let (ended_us, later) = (timings.ended_us, [&mut timings.first_byte_us, &mut timings.responded_us]);
        for time in later.into_iter().flatten() {
            *time = ended_us.min(*time);
        }
    }

    /// The requests that this exchange cancels: their ids, by value, and the outcome this gives them.
    pub(super) fn cancels(&self) -> impl Iterator<Item = (Id<'static>, Outcome)> {
        let calls = self.calls.iter().filter(|call| &*call.method == method::CANCELLED);
        calls.filter_map(|call| {
            let (id, reason) = cancellation(Envelope::scan(&call.message).params?)?;
            Some((id.by_value().into_owned(), Outcome::of_cancellation(reason.as_deref())))
        })
    }

    /// When the answer had arrived; without an answer, when the exchange ended.
    pub(super) fn answered_at(&self) -> u64 {
        let timings = &self.transaction.timings;
        timings.answer_at.unwrap_or_else(|| timings.started.us.saturating_add(timings.ended_us))
    }

    /// Marks the request as abandoned, because the stream for its answer has ended.
    pub(super) fn mark_disconnected(&mut self) {
        self.status = Outcome::Disconnected;
        self.error_message = Some("the client disconnected".to_owned());
    }

    /// The pages of lists among its answers.
    pub(super) fn lists(&self) -> impl Iterator<Item = Page<'_>> {
        self.calls
            .iter()
            .filter_map(|call| listing(&call.method, &call.message, &call.answer.as_ref()?.message))
    }

    /// The outcome of one of its calls; without an answer, that of the whole exchange.
    pub(super) fn status_of<'a>(&'a self, call: &'a Call) -> (Outcome, Option<i64>, Option<&'a str>) {
        match &call.answer {
            Some(Answer { verdict, .. }) => {
                (verdict.status, verdict.error_code, verdict.error_message.as_deref())
            }
            None => (self.status, self.error_code, self.error_message.as_deref()),
        }
    }

    fn judge(&mut self) {
        // One failure makes the whole batch a failure: an event has a single status, and a failure must not
        // hide behind it.
        let verdicts = self.calls.iter().filter_map(|call| Some(&call.answer.as_ref()?.verdict));
        let failed = verdicts.clone().find(|verdict| verdict.status != Outcome::Ok);
        if let Some(verdict) = failed.or_else(|| verdicts.clone().next()) {
            self.status = verdict.status;
            self.error_code = verdict.error_code;
            self.error_message.clone_from(&verdict.error_message);
            return;
        }
        self.status = self.status_without_answer();
        if self.status != Outcome::Ok {
            self.error_message = self.transaction.error.take().map(cut).or_else(|| self.explanation());
        }
    }

    fn status_without_answer(&self) -> Outcome {
        let transaction = &self.transaction;
        match transaction.ended {
            // A GET stream has no request, so no answer is missing when it is closed.
            Ended::ClientClosed | Ended::Stopped if self.is_stream() => Outcome::Ok,
            Ended::Upgraded => Outcome::Ok,
            Ended::Complete
                if !self.has_request() && transaction.status.is_some_and(|status| status < 400) =>
            {
                Outcome::Ok
            }
            // A request that was only accepted may be answered on another stream. Then the outcome is
            // determined again.
            ended => {
                Outcome::of_exchange(ended, transaction.status, self.closing()).unwrap_or(Outcome::Unanswered)
            }
        }
    }

    fn closing(&self) -> ClosingMeans {
        let version = self.protocol_version.as_deref().and_then(Revision::parse);
        // In the stateless revision (2026-07-28), closing the response's stream is how a client cancels.
        if version.is_some_and(Revision::is_stateless) {
            ClosingMeans::Cancelling
        } else {
            ClosingMeans::Leaving
        }
    }

    /// Whether this is a stream opened by a GET. It ends whenever either side wants, which isn't a failure.
    pub(super) fn is_stream(&self) -> bool {
        &*self.transaction.method == "GET"
            && self.transaction.response_head.as_deref().is_some_and(|head| {
                header(head, "content-type").is_some_and(|value| value.starts_with("text/event-stream"))
            })
    }

    fn explanation(&self) -> Option<String> {
        match (self.status, self.transaction.status) {
            (Outcome::HttpError, Some(status)) if status >= 400 => Some(format!("HTTP {status}")),
            (Outcome::HttpError, Some(_)) => Some("the response ended without a result".to_owned()),
            (Outcome::Disconnected, _) if self.transaction.ended == Ended::Stopped => {
                Some("the proxy was stopped".to_owned())
            }
            (Outcome::Disconnected | Outcome::Cancelled, _) => Some("the client disconnected".to_owned()),
            _ => None,
        }
    }

    pub(super) fn into_event(mut self, event_id: EventId) -> RequestEvent {
        let request_id = self.request_id(event_id);
        let (request, response) = (self.logged_request(), self.logged_response());
        let call_us = self.call_us();
        let transaction = &self.transaction;
        let timings = &transaction.timings;
        let latency_us = timings.ended_us;
        RequestEvent {
            v: VERSION,
            event_id,
            request_id,
            ts: transaction.ended_ms(),
            request,
            response,
            latency_us,
            call_us,
            upstream_us: upstream_us(transaction),
            spans: spans(transaction),
            openai: self.openai.take(),
            started_at: timings.started.wall_ms,
            first_byte_us: timings.first_byte_us.map(|us| us.min(latency_us)),
            status: self.status,
            error_code: self.error_code,
            error_message: self.error_message.take(),
            request_bytes: transaction.request_bytes,
            response_bytes: transaction.response_bytes,
            session: self.session.take(),
            protocol_version: self.protocol_version.take(),
            listener: transaction.listener.clone().unwrap_or_default(),
            upstream: Arc::clone(&transaction.upstream),
            csp_applied: transaction.csp_applied,
            trace: transaction.trace.clone(),
        }
    }

    fn request_id(&self, event_id: EventId) -> String {
        let id = self.calls.iter().find_map(|call| call.id.as_ref());
        id.map_or_else(|| event_id.uuid().to_string(), id_text)
    }

    fn logged_request(&self) -> LoggedRequest {
        let transaction = &self.transaction;
        let method = Arc::clone(&transaction.method);
        let path = || transaction.target.split('?').next().unwrap_or_default().to_owned();
        let parts = || transaction.request_head.clone().map(Raw::from);
        match self.calls.as_slice() {
            [] => LoggedRequest::Http {
                method,
                uri: transaction.target.clone(),
                body_size: transaction.request_bytes,
            },
            [call] if !self.is_batch => LoggedRequest::Mcp {
                method,
                path: path(),
                mcp_method: Arc::clone(&call.method),
                tool: call.tool.clone(),
                parts: parts(),
                message: project::request(&call.message),
            },
            calls => LoggedRequest::McpBatch {
                method,
                path: path(),
                parts: parts(),
                messages: calls.iter().map(|call| self.logged_call(call)).collect(),
            },
        }
    }

    fn logged_call(&self, call: &Call) -> LoggedCall {
        // Only requests are answered, unless the whole batch was refused. All other messages count as ok once
        // they are sent.
        let (status, error_code, error_message) = match call.kind {
            MessageKind::Request => self.status_of(call),
            _ if call.answer.is_some() => self.status_of(call),
            _ => (Outcome::Ok, None, None),
        };
        LoggedCall {
            request_id: call.id.as_ref().map(id_text),
            mcp_method: Arc::clone(&call.method),
            tool: call.tool.clone(),
            status,
            error_code,
            error_message: error_message.map(str::to_owned),
            message: project::request(&call.message),
            request_bytes: call.message.len() as u64,
            response_bytes: call.answer.as_ref().map_or(0, |answer| answer.message.len() as u64),
        }
    }

    /// The server's response. One that the proxy made up itself doesn't count.
    fn logged_response(&self) -> Option<LoggedResponse> {
        let transaction = &self.transaction;
        // With these endings the response is not the server's, or not complete.
        let has_failed = matches!(
            transaction.ended,
            Ended::Refused | Ended::Unreachable | Ended::UpstreamClosed | Ended::TooLarge | Ended::Timeout
        );
        let answers: Vec<(&Call, &Answer)> =
            self.calls.iter().filter_map(|call| Some((call, call.answer.as_ref()?))).collect();
        let gave_up = matches!(transaction.ended, Ended::ClientClosed | Ended::Stopped);
        if has_failed || (gave_up && answers.is_empty() && !self.is_stream()) {
            return None;
        }
        let status = transaction.status?;
        let result = if self.status == Outcome::Ok { "ok" } else { "error" };
        let parts = || transaction.response_head.clone().map(Raw::from);
        Some(match answers.as_slice() {
            [] => LoggedResponse::Http { status, body_size: transaction.response_bytes },
            [(call, answer)] if !self.is_batch => LoggedResponse::Mcp {
                status,
                result,
                parts: parts(),
                message: project::response(&call.method, &answer.message),
            },
            several => LoggedResponse::McpBatch {
                status,
                result,
                parts: parts(),
                messages: several
                    .iter()
                    .map(|(call, answer)| project::response(&call.method, &answer.message))
                    .collect(),
            },
        })
    }
}

impl Call {
    fn of(message: Bytes) -> Self {
        let envelope = Envelope::scan(&message);
        let (kind, id) = (envelope.kind, envelope.id.clone().map(Id::into_owned));
        let method: Arc<str> = envelope.method.as_deref().unwrap_or_default().into();
        let tool = envelope.tool().map(Arc::from);
        Call { kind, id, method, tool, message, answer: None }
    }

    fn take_answer(&self, answers: &mut UnmatchedAnswers) -> Option<Answer> {
        if self.kind != MessageKind::Request {
            return None;
        }
        answers.take(self.id.as_ref()?)
    }

    /// The `--events` line for this call; only tool calls and tool lists have one.
    pub(super) fn line(
        &self,
        transaction: &Transaction,
        (status, error_code, error_message): (Outcome, Option<i64>, Option<&str>),
    ) -> Option<LineWhat> {
        let latency_ms = transaction.timings.ended_us as f64 / 1000.0;
        let failed = status != Outcome::Ok;
        // Readers of the lines rely on a code: without a JSON-RPC error, it is the HTTP status, or 0.
        let http = || transaction.status.filter(|status| *status >= 400).map_or(0, i64::from);
        let code = failed.then(|| error_code.unwrap_or_else(http));
        let message = failed.then(|| error_message.unwrap_or(status.name()).to_owned());
        let status = if failed { "error" } else { "ok" };
        match &*self.method {
            "tools/call" => Some(LineWhat::ToolCall {
                method: "tools/call",
                tool: self.tool.clone().unwrap_or_default(),
                latency_ms,
                status,
                user: transaction.user.clone(),
                error_code: code,
                error_message: message,
            }),
            "tools/list" => Some(LineWhat::ToolList {
                method: "tools/list",
                latency_ms,
                status,
                error_code: code,
                error_message: message,
            }),
            _ => None,
        }
    }
}

impl Answer {
    fn of(message: Bytes) -> Self {
        let verdict = Verdict::of(&Envelope::scan(&message));
        Answer { message, verdict }
    }
}

/// A response whose request is still to be found. Its envelope is scanned once, for all that is asked of it later.
struct UnmatchedAnswer {
    id: Option<Id<'static>>,
    is_error: bool,
    answer: Answer,
}

/// The responses of an exchange.
struct UnmatchedAnswers {
    /// `None` where the request was found.
    answers: Vec<Option<UnmatchedAnswer>>,
    /// The places of several responses by id, the last one first: a batch may be long, and comparing each of its requests
    /// with each of its responses takes quadratic time.
    places: HashMap<Id<'static>, Vec<usize>>,
}

impl UnmatchedAnswers {
    fn of(response: Option<Bytes>) -> Self {
        let messages = response.map(split).unwrap_or_default().into_iter();
        let answers: Vec<_> = messages.map(|message| Some(UnmatchedAnswer::of(message))).collect();
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        if answers.len() > 1 {
            for (at, answer) in answers.iter().enumerate().rev() {
                if let Some(id) = answer.as_ref().and_then(|answer| answer.id.clone()) {
                    places.entry(id.by_value()).or_default().push(at);
                }
            }
        }
        UnmatchedAnswers { answers, places }
    }

    /// Takes the first response with this id.
    fn take(&mut self, id: &Id<'static>) -> Option<Answer> {
        let at = match &self.answers[..] {
            [Some(UnmatchedAnswer { id: Some(answer), .. })] if answer.is_same(id) => 0,
            [_] => return None,
            _ => self.places.get_mut(&id.clone().by_value())?.pop()?,
        };
        Some(self.answers[at].take()?.answer)
    }

    fn into_rest(self) -> impl Iterator<Item = UnmatchedAnswer> {
        self.answers.into_iter().flatten()
    }
}

impl UnmatchedAnswer {
    fn of(message: Bytes) -> Self {
        let envelope = Envelope::scan(&message);
        let (id, is_error) = (envelope.id.clone().map(Id::into_owned), envelope.error.is_some());
        let verdict = Verdict::of(&envelope);
        UnmatchedAnswer { id, is_error, answer: Answer { message, verdict } }
    }
}

impl Verdict {
    /// Reads the outcome from a response.
    pub(crate) fn of(envelope: &Envelope<'_>) -> Self {
        let status = Outcome::of_response(envelope);
        let text = match status {
            Outcome::ProtocolError => {
                envelope.error.and_then(|error| Value::parse(error).ok()?.get("message")?.string())
            }
            Outcome::ToolError => envelope.result.and_then(first_text),
            _ => None,
        };
        let error_message = text.map(|text| cut(text.into_owned()));
        Verdict { status, error_code: envelope.error_code, error_message }
    }
}

/// Answers the open requests with an error that has no id, or one that no request has: a server that can't parse
/// a request doesn't know its id (JSON-RPC 2.0, section 5), and some then make one up. That is about a request
/// that is alone; an error without an id is about everything that was sent. `CallTracker` has the same rule.
fn refuse(calls: &mut [Call], answers: UnmatchedAnswers) {
    let is_whole = calls.iter().all(|call| call.answer.is_none());
    let is_open = |call: &Call| call.answer.is_none() && call.kind == MessageKind::Request;
    let is_alone = calls.iter().filter(|call| is_open(call)).count() == 1;
    let is_refusal = |answer: &UnmatchedAnswer| answer.is_error && (answer.id.is_none() || is_alone);
    let Some(refusal) = answers.into_rest().find(is_refusal) else { return };
    // Notifications, too, if nothing was accepted.
    for call in calls.iter_mut().filter(|call| is_whole || is_open(call)) {
        call.answer = Some(refusal.answer.clone());
    }
}

/// The first text of a failed tool's result, which by convention is its error message.
fn first_text(result: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let mut first = None;
    Value::parse(result).ok()?.get("content")?.elements(|part| {
        if first.is_none() {
            first = part.get("text").and_then(Value::string);
        }
    });
    first
}

/// The payload, or the payloads of a batch, as slices of the same buffer.
fn split(whole: Bytes) -> Vec<Bytes> {
    if whole.first() != Some(&b'[') {
        return vec![whole];
    }
    payloads(&whole).into_iter().map(|part| whole.slice_ref(part)).collect()
}

fn id_text(id: &Id<'static>) -> String {
    let (Id::String(text) | Id::Number(text)) = id;
    text.clone().into_owned()
}

/// The value of a header; `name` is in lower case, as heads store it.
pub(super) fn header(head: &Head, name: &str) -> Option<String> {
    let value = Value::parse(head.json()).ok()?.get("headers")?.get(name)?;
    Some(value.string()?.into_owned())
}

pub(super) fn cut(mut text: String) -> String {
    if text.len() > MAX_ERROR {
        // Not in the middle of a character.
        let end = (0..=MAX_ERROR).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

fn protocol_version(transaction: &Transaction, calls: &[Call]) -> Option<Arc<str>> {
    if let Some(version) = &transaction.protocol_version {
        return Some(version.as_str().into());
    }
    let call = calls.first()?;
    if &*call.method == method::INITIALIZE {
        return Some(handshake_version(Envelope::scan(&call.answer.as_ref()?.message).result?)?.into());
    }
    Some(request_version(Envelope::scan(&call.message).params?)?.into())
}

/// The members of `_meta` that begin with `openai/`, without the prefix.
fn openai(message: &[u8]) -> Option<Raw> {
    const PREFIX: &str = "openai/";
    // A substring search is cheap, and few messages contain it.
    memchr::memmem::find(message, b"\"openai/")?;
    let meta = Value::parse(Envelope::scan(message).params?).ok()?.get("_meta")?;
    let mut object = Vec::from(b"{");
    meta.members(|name, value| {
        if let Some(short) = name.decode().strip_prefix(PREFIX) {
            if object.len() > 1 {
                object.push(b',');
            }
            // Serializing a string to memory can't fail.
            object.extend(serde_json::to_vec(short).unwrap_or_default());
            object.push(b':');
            object.extend_from_slice(value.raw);
        }
    });
    object.push(b'}');
    (object.len() > 2).then(|| Raw::from(object))
}

/// How long the server had the request: from the connection to the last byte of its answer.
fn upstream_us(transaction: &Transaction) -> u64 {
    let timings = &transaction.timings;
    let until = timings.responded_us.unwrap_or(timings.ended_us);
    timings.connected_us.map_or(0, |connected| until.saturating_sub(connected))
}

/// The stages of an exchange. Their durations add up to the whole; the stage in which it broke off gets the
/// remainder.
fn spans(transaction: &Transaction) -> Vec<Span> {
    let timings = &transaction.timings;
    let stages = [
        ("Connect", timings.connected_us),
        ("Upstream", timings.answered_us),
        ("Body", timings.responded_us),
        ("Finish", None),
    ];
    let mut spans = Vec::with_capacity(stages.len());
    let mut last = 0;
    for (at, (name, mark)) in stages.iter().enumerate() {
        let is_last = stages[at..].iter().all(|(_, mark)| mark.is_none());
        if let Some(mark) = mark.or(is_last.then_some(timings.ended_us)) {
            // A late answer may move the end before marks that were taken earlier; a span can't be negative.
            let mark = mark.clamp(last, timings.ended_us.max(last));
            spans.push(Span(name, mark - last));
            last = mark;
        }
        if is_last {
            break;
        }
    }
    spans
}
