//! `har`: an HTTP archive 1.2, for browsers' tools and others. A call is an entry: a POST and its answer. What the server sent
//! of its own accord is a GET with a stream of one event. Where the trace has the heads of the exchange, they are those.

use super::json::{raw, string};
use super::{ExportFormat, Exporter, Survey};
use crate::call::{Call, CallTracker, Observed};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use wiretape_trace::format::{HeaderValues, HttpContext, Line, Message, Record, WallClock};
use wiretape_trace::message::{Direction, MessageKind};

pub(super) static HAR: ExportFormat = ExportFormat {
    name: "har",
    about: "an HTTP archive, for browsers' tools",
    make: |_, survey| Box::new(Archive::new(survey)),
};

/// Stands on an entry whose time nobody gave.
const ASSUMED_TIME: &str = "the time is assumed";

struct Archive {
    source: String,
    url: String,
    tracker: CallTracker,
    /// Requests that wait for their answer, by their id.
    open: HashMap<u64, Request>,
    /// Entries in the order of their requests; one that isn't finished yet holds up those behind it.
    ordered: BTreeMap<u64, Option<String>>,
    next: u64,
    clock: WallClock,
    now_ms: i64,
    /// Whether the message that is being told gives a time.
    is_timed: bool,
    entries: u64,
}

/// A POST, or a GET that has no body.
struct Request {
    ordinal: u64,
    body: String,
    at_ms: i64,
    is_timed: bool,
    url: String,
    headers: String,
}

/// An answer.
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
        // A server behind pipes has no URL; this name is reserved for what doesn't exist.
        let url = if is_url { command } else { format!("http://{}.invalid/mcp", host_label(&label)) };
        Archive {
            source: survey.words(),
            url,
            tracker: CallTracker::new(),
            open: HashMap::new(),
            ordered: BTreeMap::new(),
            next: 0,
            clock: WallClock::default(),
            now_ms: survey.first_ms.unwrap_or(0),
            is_timed: false,
            entries: 0,
        }
    }

    fn message(&mut self, line: u64, message: &Message<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.is_timed = message.stamp.wall_ms().is_some();
        self.now_ms = message.stamp.wall_ms().unwrap_or(self.now_ms);
        let http = message.http.map(HttpContext::parse).unwrap_or_default();
        let from = message.dir.known();
        let mut observed = Vec::new();
        self.tracker.observe_message(line, message, |payload, envelope, what| {
            observed.push((raw(payload).into_owned(), envelope.kind, envelope.id.is_some(), what));
        });
        for (payload, kind, has_id, what) in observed {
            match (from, kind, &what) {
                (Some(Direction::ClientToServer), _, Observed::Request { number, abandoned }) if has_id => {
                    if let Some(call) = abandoned {
                        self.unanswered(call, out)?;
                    }
                    let request = self.request(payload, &http);
                    self.open.insert(*number, request);
                }
                (Some(Direction::ServerToClient), MessageKind::Response, _) => {
                    let asked = what.closed().and_then(|call| self.take(call));
                    self.answer(asked, payload, &http, out)?;
                }
                (Some(Direction::ClientToServer), ..) => {
                    let request = self.request(payload, &http);
                    self.entry(&request, &Response::empty(202), out)?;
                }
                _ => self.pushed(&payload, &http, out)?,
            }
        }
        Ok(())
    }

    fn request(&mut self, body: String, http: &HttpContext) -> Request {
        let (url, headers) = match &http.request {
            Some(head) => (joined(&self.url, &head.target), headers(&head.headers)),
            None => (self.url.clone(), "[]".to_owned()),
        };
        Request { ordinal: self.ordinal(), body, at_ms: self.now_ms, is_timed: self.is_timed, url, headers }
    }

    /// The place of an entry that is not written yet.
    fn ordinal(&mut self) -> u64 {
        self.next += 1;
        self.ordered.insert(self.next, None);
        self.next
    }

    fn take(&mut self, call: &Call) -> Option<Request> {
        self.open.remove(&call.number)
    }

    fn unanswered(&mut self, call: &Call, out: &mut dyn Write) -> io::Result<()> {
        match self.take(call) {
            // Browsers give 0 where nothing came back.
            Some(request) => self.entry(&request, &Response::empty(0), out),
            None => Ok(()),
        }
    }

    fn answer(
        &mut self,
        asked: Option<Request>,
        payload: String,
        http: &HttpContext,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(request) = asked else { return self.pushed(&payload, http, out) };
        let response = Response::of(payload, http);
        self.entry(&request, &response, out)
    }

    /// What the server sent of its own accord.
    fn pushed(&mut self, payload: &str, http: &HttpContext, out: &mut dyn Write) -> io::Result<()> {
        let (status, headers) = head_of(http);
        let response = Response { status, headers, mime: "text/event-stream", body: event(http, payload) };
        let request = self.request(String::new(), &HttpContext::default());
        self.entry(&request, &response, out)
    }

    fn entry(&mut self, request: &Request, response: &Response, out: &mut dyn Write) -> io::Result<()> {
        let time = (self.now_ms - request.at_ms).max(0);
        let started = string(self.clock.format(request.at_ms));
        // An archive must have a time.
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
             \"bodySize\":{}}},\"cache\":{{}},\"timings\":{{\"send\":0,\"wait\":{time},\"receive\":0}}{comment}}}",
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
        self.ordered.insert(request.ordinal, Some(entry));
        self.write_finished(out)
    }

    /// Writes what is finished, up to the first that isn't. One that nobody answers may not hold up too many.
    fn write_finished(&mut self, out: &mut dyn Write) -> io::Result<()> {
        const MOST: usize = 10_000;
        loop {
            let patient = self.ordered.len() <= MOST;
            let Some(first) = self.ordered.iter().find(|(_, entry)| entry.is_some() || patient) else {
                return Ok(());
            };
            let (ordinal, Some(_)) = (*first.0, first.1) else { return Ok(()) };
            let Some(Some(entry)) = self.ordered.remove(&ordinal) else { return Ok(()) };
            let comma = if self.entries > 0 { "," } else { "" };
            self.entries += 1;
            write!(out, "{comma}\n{entry}")?;
        }
    }

    /// An exchange without a message that says something all the same.
    fn exchange(&mut self, http: &HttpContext, out: &mut dyn Write) -> io::Result<()> {
        let Some(head) = http.response.as_ref().filter(|head| head.status >= 400) else { return Ok(()) };
        let request = self.request(String::new(), http);
        let body = http.response_body.as_ref().and_then(|body| body.text.clone()).unwrap_or_default();
        let response =
            Response { status: head.status, headers: headers(&head.headers), mime: "text/plain", body };
        self.entry(&request, &response, out)
    }
}

impl Response {
    fn empty(status: u16) -> Self {
        Response { status, headers: "[]".to_owned(), mime: "x-unknown", body: String::new() }
    }

    fn of(payload: String, http: &HttpContext) -> Self {
        let (status, headers) = head_of(http);
        if http.sse.is_some() {
            Response { status, headers, mime: "text/event-stream", body: event(http, &payload) }
        } else {
            Response { status, headers, mime: "application/json", body: payload }
        }
    }
}

fn head_of(http: &HttpContext) -> (u16, String) {
    http.response.as_ref().map_or((200, "[]".to_owned()), |head| (head.status, headers(&head.headers)))
}

/// A message as an event.
fn event(http: &HttpContext, payload: &str) -> String {
    let sse = http.sse.clone().unwrap_or_default();
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

/// The URL of a request: its target, on the server's origin.
fn joined(server: &str, target: &str) -> String {
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

impl Exporter for Archive {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        write!(
            out,
            "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{\"name\":\"wiretape\",\"version\":\"{version}\"}},\"comment\":{},\"entries\":[",
            string(&self.source)
        )
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        match &line.record {
            Record::Meta(meta) => self.tracker.observe_meta(meta),
            Record::Message(message) => self.message(line.number, message, out)?,
            Record::Http(exchange) => self.exchange(&HttpContext::parse(exchange.http), out)?,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for call in std::mem::take(&mut self.tracker).finish() {
            self.unanswered(&call, out)?;
        }
        writeln!(out, "\n]}}}}")
    }
}
