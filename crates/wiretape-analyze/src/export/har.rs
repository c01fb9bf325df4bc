//! `har`: an HTTP archive 1.2 for browser tools. A call is an entry: a POST with its answer or error status. An unsolicited
//! server message is a GET with an event stream of one event. Entries have the real heads where the trace has them.
//! `_outcome` is the outcome of the call.

use super::json::{raw, string};
use super::{ExportAnalysis, ExportFormat, Output, Survey};
use crate::call::{Call, PendingCall};
use crate::reading::{Analysis, Cause, Closed, LineView, Meaning, Seen};
use std::collections::BTreeMap;
use std::io::{self, Write};
use wiretape_trace::format::{HeaderValues, HttpContext, Record, WallClock};
use wiretape_trace::message::Direction;

pub(super) static HAR: ExportFormat = ExportFormat {
    name: "har",
    about: "an HTTP archive for browser tools",
    make: |_, survey| super::exporter(Archive::new(survey)),
};

/// The comment of an entry whose source has no time. The importer recognizes this exact text (`import/formats/har.rs`).
const ASSUMED_TIME: &str = "the time is assumed";

/// Finished entries that wait for an older one.
const MOST_WAITING: usize = 10_000;

struct Archive {
    source: String,
    url: String,
    /// Entries in the order of their requests; an unfinished one holds up those after it.
    ordered: BTreeMap<u64, Option<String>>,
    next: u64,
    clock: WallClock,
    now_ms: i64,
    /// Whether the current line has a time.
    is_timed: bool,
    /// Whether the current line's exchange belongs to a call.
    is_of_call: bool,
    entries: u64,
    out: Output,
}

/// A POST, or a GET that has no body.
#[derive(Default)]
struct Request {
    ordinal: u64,
    body: String,
    at_ms: i64,
    is_timed: bool,
    url: String,
    headers: String,
    /// Status and headers of its exchange, if there is no message.
    ended_with: Option<(u16, String)>,
}

/// A response of an entry.
struct Response {
    status: u16,
    headers: String,
    mime: &'static str,
    body: String,
}

impl Archive {
    fn new(survey: &Survey) -> Self {
        let command = survey.meta.as_ref().and_then(|meta| meta.command.first().cloned()).unwrap_or_default();
        let label = survey.meta.as_ref().map(|meta| meta.label.clone()).unwrap_or_default();
        let is_url = command.starts_with("http://") || command.starts_with("https://");
        // A stdio server has no URL; `.invalid` is reserved for names that don't exist (RFC 2606).
        let url = if is_url { command } else { format!("http://{}.invalid/mcp", host_label(&label)) };
        Archive {
            source: survey.words(),
            url,
            ordered: BTreeMap::new(),
            next: 0,
            clock: WallClock::default(),
            now_ms: survey.first_ms.unwrap_or(0),
            is_timed: false,
            is_of_call: false,
            entries: 0,
            out: Output::default(),
        }
    }

    fn request(&mut self, body: String, http: Option<&HttpContext>) -> Request {
        let (url, headers) = match http.and_then(|http| http.request.as_ref()) {
            Some(head) => (joined(&self.url, &head.target), headers(&head.headers)),
            None => (self.url.clone(), "[]".to_owned()),
        };
        let ordinal = self.ordinal();
        Request { ordinal, body, at_ms: self.now_ms, is_timed: self.is_timed, url, headers, ended_with: None }
    }

    /// The index of an entry that is not written yet.
    fn ordinal(&mut self) -> u64 {
        self.next += 1;
        self.ordered.insert(self.next, None);
        if self.ordered.len() > MOST_WAITING {
            // The oldest entry is still pending. It loses its place and is written when it ends, which bounds the memory.
            self.ordered.pop_first();
            self.write_finished();
        }
        self.next
    }

    /// Adds an unsolicited server message.
    fn pushed(&mut self, payload: &str, http: Option<&HttpContext>) {
        let (status, headers) = head_of(http);
        let response = Response { status, headers, mime: "text/event-stream", body: event(http, payload) };
        let request = self.request(String::new(), None);
        self.entry(&request, &response, None);
    }

    fn entry(&mut self, request: &Request, response: &Response, call: Option<&Call>) {
        let time = milliseconds(call.and_then(|call| call.duration_us));
        let outcome =
            call.map(|call| format!(",\"_outcome\":\"{}\"", call.outcome.name())).unwrap_or_default();
        let started = string(self.clock.format(request.at_ms));
        // HAR 1.2 requires `startedDateTime`.
        let comment =
            if request.is_timed { String::new() } else { format!(",\"comment\":\"{ASSUMED_TIME}\"") };
        let (method, post) = if request.body.is_empty() {
            ("GET", String::new())
        } else {
            let text = string(&request.body);
            ("POST", format!(",\"postData\":{{\"mimeType\":\"application/json\",\"text\":{text}}}"))
        };
        let entry = format!(
            "{{\"startedDateTime\":{started},\"time\":{time},\"request\":{{\"method\":\"{method}\",\"url\":{},\
             \"httpVersion\":\"HTTP/1.1\",\"cookies\":[],\"headers\":{},\"queryString\":[]{post},\"headersSize\":-1,\
             \"bodySize\":{}}},\"response\":{{\"status\":{},\"statusText\":\"\",\"httpVersion\":\"HTTP/1.1\",\"cookies\":[],\
             \"headers\":{},\"content\":{{\"size\":{},\"mimeType\":\"{}\",\"text\":{}}},\"redirectURL\":\"\",\"headersSize\":-1,\
             \"bodySize\":{}}},\"cache\":{{}},\"timings\":{{\"send\":0,\"wait\":{time},\"receive\":0}}{outcome}{comment}}}",
            string(&request.url),
            request.headers,
            request.body.len(),
            response.status,
            response.headers,
            response.body.len(),
            response.mime,
            string(&response.body),
            response.body.len(),
        );
        match self.ordered.get_mut(&request.ordinal) {
            Some(place) => *place = Some(entry),
            None => self.write(&entry),
        }
        self.write_finished();
    }

    /// Writes finished entries, up to the first unfinished one.
    fn write_finished(&mut self) {
        while let Some(first) = self.ordered.first_entry().filter(|first| first.get().is_some()) {
            if let Some(entry) = first.remove() {
                self.write(&entry);
            }
        }
    }

    fn write(&mut self, entry: &str) {
        let comma = if self.entries > 0 { "," } else { "" };
        self.entries += 1;
        self.out.write(|out| write!(out, "{comma}\n{entry}"));
    }

    /// Adds a failed exchange without a message.
    fn failed_exchange(&mut self, http: &HttpContext) {
        if let Some(response) = Response::of_failure(http) {
            let request = self.request(String::new(), Some(http));
            self.entry(&request, &response, None);
        }
    }
}

impl Analysis for Archive {
    type PerCall = Option<Box<Request>>;

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        self.is_of_call = false;
        if let Record::Message(message) = &view.line.record {
            let wall_ms = message.stamp.wall_ms();
            self.is_timed = wall_ms.is_some();
            self.now_ms = wall_ms.unwrap_or(self.now_ms);
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let http = seen.line.http();
        match (seen.direction, seen.meaning, own) {
            (Some(Direction::ClientToServer), Meaning::Request { .. }, Some(own)) => {
                let request = self.request(raw(seen.raw).into_owned(), http);
                *own = Some(Box::new(request));
            }
            // `closed` writes the call.
            (Some(Direction::ServerToClient), Meaning::Answer { .. }, _) => {}
            // Notifications and answers to the server: servers accept those with 202 (2025-03-26 and later,
            // streamable HTTP).
            (Some(Direction::ClientToServer), ..) => {
                let request = self.request(raw(seen.raw).into_owned(), http);
                self.entry(&request, &Response::empty(202), None);
            }
            _ => self.pushed(&raw(seen.raw), http),
        }
    }

    fn doomed(&mut self, view: &LineView<'_, '_>, _: &PendingCall, own: &mut Self::PerCall) {
        // The entry of the call carries this status; a second entry for the exchange would show one POST twice.
        self.is_of_call = true;
        if let (Some(request), Some(head)) = (own, view.http().and_then(|http| http.response.as_ref())) {
            request.ended_with = Some((head.status, headers(&head.headers)));
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, own: Self::PerCall) {
        let http = closed.line.and_then(|view| view.http());
        self.is_of_call |= closed.cause == Cause::HttpStatus;
        let Some(request) = own else { return };
        let failure = || http.filter(|_| closed.cause == Cause::HttpStatus).and_then(Response::of_failure);
        let response = match closed.answer {
            Some(_) => Response::of(raw(closed.raw).into_owned(), http),
            None => failure().unwrap_or_else(|| Response::without_message(closed.call, &request)),
        };
        self.entry(&request, &response, Some(closed.call));
    }

    fn end_line(&mut self, view: &LineView<'_, '_>) {
        if let (Record::Http(_), false, Some(http)) = (&view.line.record, self.is_of_call, view.http()) {
            self.failed_exchange(http);
        }
    }
}

impl ExportAnalysis for Archive {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        write!(
            out,
            "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{\"name\":\"wiretape\",\"version\":\"{version}\"}},\"comment\":{},\"entries\":[",
            string(&self.source)
        )
    }

    fn output(&mut self) -> &mut Output {
        &mut self.out
    }

    fn finish(&mut self) {
        self.out.write(|out| writeln!(out, "\n]}}}}"));
    }
}

/// Microseconds as a number of milliseconds.
fn milliseconds(us: Option<u64>) -> String {
    let us = us.unwrap_or(0);
    if us.is_multiple_of(1000) { format!("{}", us / 1000) } else { format!("{}.{:03}", us / 1000, us % 1000) }
}

impl Response {
    fn empty(status: u16) -> Self {
        Response { status, headers: "[]".to_owned(), mime: "x-unknown", body: String::new() }
    }

    /// A response with a status but no message.
    fn of_failure(http: &HttpContext) -> Option<Self> {
        let head = http.response.as_ref().filter(|head| head.status >= 400)?;
        let body = http.response_body.as_ref().and_then(|body| body.text.clone()).unwrap_or_default();
        Some(Response { status: head.status, headers: headers(&head.headers), mime: "text/plain", body })
    }

    /// No response, or only the proxy's own. Browsers use status 0 for that.
    fn without_message(call: &Call, request: &Request) -> Self {
        match &request.ended_with {
            Some((status, headers)) => Response { headers: headers.clone(), ..Response::empty(*status) },
            None => Response::empty(call.http_status.unwrap_or(0)),
        }
    }

    fn of(payload: String, http: Option<&HttpContext>) -> Self {
        let (status, headers) = head_of(http);
        if http.is_some_and(|http| http.sse.is_some()) {
            Response { status, headers, mime: "text/event-stream", body: event(http, &payload) }
        } else {
            Response { status, headers, mime: "application/json", body: payload }
        }
    }
}

fn head_of(http: Option<&HttpContext>) -> (u16, String) {
    http.and_then(|http| http.response.as_ref())
        .map_or((200, "[]".to_owned()), |head| (head.status, headers(&head.headers)))
}

/// A message as an SSE event.
fn event(http: Option<&HttpContext>, payload: &str) -> String {
    let sse = http.and_then(|http| http.sse.clone()).unwrap_or_default();
    let id = sse.id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: {}\n{id}data: {payload}\n\n", sse.event.as_deref().unwrap_or("message"))
}

fn headers<'h>(headers: impl IntoIterator<Item = (&'h String, &'h HeaderValues)>) -> String {
    let pair = |name: &str, value: &str| format!("{{\"name\":{},\"value\":{}}}", string(name), string(value));
    let pairs: Vec<String> = headers
        .into_iter()
        .flat_map(|(name, values)| match values {
            HeaderValues::One(value) => vec![pair(name, value)],
            HeaderValues::Many(values) => values.iter().map(|value| pair(name, value)).collect(),
        })
        .collect();
    format!("[{}]", pairs.join(","))
}

/// The URL of a request: the server's origin and the request's target.
fn joined(server: &str, target: &str) -> String {
    // Through a forward proxy, the target is a complete URL (RFC 9112, section 3.2.2).
    if target.contains("://") {
        return target.to_owned();
    }
    let path = server.find("://").and_then(|at| server[at + 3..].find('/').map(|slash| at + 3 + slash));
    format!("{}{target}", &server[..path.unwrap_or(server.len())])
}

fn host_label(label: &str) -> String {
    let clean: String =
        label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    if clean.is_empty() { "server".to_owned() } else { clean }
}
