//! Reassembles one HTTP exchange from the trace lines that mention it, into the same [`Transaction`] that the
//! proxy hands over.

use super::timeline::Tick;
use crate::transaction::{Timings, Transaction, is_answer, session_in};
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::format::{Answers, Ended, ExchangeNote, HeadJson, Policy};
use wiretape_trace::message::{Direction, Envelope, MessageKind};

/// An exchange whose end was not read yet.
#[derive(Debug)]
pub(super) struct OpenExchange {
    /// What is known so far. Times and the ending are set at the end.
    transaction: Transaction,
    first: Tick,
    last: Tick,
    /// When the server's head arrived.
    answered: Option<Tick>,
    /// Whether the response is complete.
    response: Response,
}

/// How much of a response was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Response {
    /// More of the body may follow.
    Partial,
    /// The whole body was read.
    Whole,
}

/// What a client sent, and when, in microseconds since the recording began.
#[derive(Debug, Clone)]
pub(super) struct SentMessage {
    message: Bytes,
    at: Option<u64>,
}

impl SentMessage {
    pub(super) fn of(transaction: &Transaction) -> Option<Self> {
        Some(SentMessage { message: transaction.request.clone()?, at: transaction.timings.asked_at })
    }
}

/// The stream on which an answer to another exchange arrived.
pub(super) struct OnStream {
    pub(super) upstream: Arc<str>,
    pub(super) session: String,
}

impl OpenExchange {
    /// Begins an exchange with the server at this URL, unless the request's target names another, as in a
    /// forward proxy.
    pub(super) fn begin(
        note: &ExchangeNote<'_>,
        server: &Arc<str>,
        trace: Option<Arc<str>>,
        at: Tick,
    ) -> Self {
        let head = note.request;
        let value = head.and_then(HeadJson::value);
        let text = |name| value.and_then(|head| head.get(name)?.string()).unwrap_or_default();
        let header = |name| head.and_then(|head| Some(head.header(name)?.into_owned()));
        let connection = note.connection.as_ref();
        let target = text("target");
        let (upstream, target) = match target.contains("://") {
            true => (Arc::from(origin(&target)), target[origin(&target).len()..].to_owned()),
            false => (Arc::clone(server), target.into_owned()),
        };
        let transaction = Transaction {
            x: note.x,
            // Older recorders, and those without a client connection, write none.
            listener: connection.map(|connection| Arc::from(&*connection.listener)),
            client: connection.map(|connection| connection.client),
            connection: connection.map(|connection| connection.number),
            user: note.user.as_deref().map(str::to_owned),
            is_resumable: false,
            is_html: false,
            csp_applied: false,
            upstream,
            session: header("mcp-session-id"),
            protocol_version: header("mcp-protocol-version"),
            method: text("method").into(),
            target,
            request_head: head.map(|head| Arc::new(head.to_head())),
            response_head: None,
            status: None,
            request: None,
            response: None,
            request_bytes: 0,
            response_bytes: 0,
            trace,
            timings: Timings::default(),
            ended: Ended::Complete,
            error: None,
        };
        OpenExchange { transaction, first: at, last: at, answered: None, response: Response::Partial }
    }

    /// Adds what a line says about the exchange.
    pub(super) fn note(&mut self, note: &ExchangeNote<'_>, at: Tick) {
        self.last = at;
        self.transaction.is_resumable |= note.sse.as_ref().is_some_and(|sse| sse.id.is_some());
        if let Some(head) = note.response {
            self.response_head(head, note, at);
        }
        if let Some(body) = &note.request_body {
            self.transaction.request_bytes = body.bytes;
        }
        if let Some(body) = &note.response_body {
            self.transaction.response_bytes = body.bytes;
        }
        self.transaction.csp_applied |= note.policy == Policy::Added;
    }

    fn response_head(&mut self, head: HeadJson<'_>, note: &ExchangeNote<'_>, at: Tick) {
        let transaction = &mut self.transaction;
        transaction.status = status(head);
        transaction.response_head = Some(Arc::new(head.to_head()));
        transaction.is_html = head.header("content-type").is_some_and(|media| is_html(&media));
        if transaction.session.is_none() {
            transaction.session = head.header("mcp-session-id").map(Cow::into_owned);
        }
        // An unverified claim: a server that answered 401 did not accept the token that it comes from.
        transaction.user = transaction.user.take().filter(|_| transaction.status != Some(401));
        if note.answers == Answers::Server {
            self.answered = Some(at);
        }
    }

    /// Adds a message. Returns the stream if it is an answer on a GET stream, which belongs to another
    /// exchange.
    pub(super) fn message(
        &mut self,
        note: &ExchangeNote<'_>,
        dir: Direction,
        raw: &[u8],
        at: Tick,
    ) -> Option<OnStream> {
        match dir {
            Direction::ClientToServer => {
                self.transaction.timings.asked_at = Some(at.us);
                self.transaction.request_bytes = note.bytes.unwrap_or(raw.len() as u64);
                self.transaction.request = Some(Bytes::copy_from_slice(raw));
                None
            }
            // `own`: the proxy answered in the server's place, so this isn't the server's answer.
            Direction::ServerToClient if note.answers == Answers::Recorder => {
                self.transaction.timings.answer_at = Some(at.us);
                None
            }
            Direction::ServerToClient => {
                if note.sse.is_none() {
                    self.response = Response::Whole;
                    self.transaction.response_bytes = note.bytes.unwrap_or(raw.len() as u64);
                } else {
                    // A sum of messages, until the line about the end has the length of the whole stream.
                    self.transaction.response_bytes += raw.len() as u64;
                }
                self.answer(raw, at)
            }
        }
    }

    fn answer(&mut self, raw: &[u8], at: Tick) -> Option<OnStream> {
        let transaction = &mut self.transaction;
        if !is_answer(raw) {
            return None;
        }
        if &*transaction.method == "GET" {
            let session = transaction.session.clone()?;
            return Some(OnStream { upstream: Arc::clone(&transaction.upstream), session });
        }
        transaction.response = Some(Bytes::copy_from_slice(raw));
        transaction.timings.answer_at = Some(at.us);
        None
    }

    /// Adds an SSE event that is not a message. Over HTTP+SSE, the first one names the session.
    pub(super) fn event(&mut self, note: &ExchangeNote<'_>, text: &str) {
        let kind = note.sse.as_ref().and_then(|sse| sse.event.as_deref());
        if kind == Some("endpoint") && self.transaction.session.is_none() {
            self.transaction.session = session_in(text);
        }
    }

    /// Sets the request to what an earlier exchange sent, which is not recorded a second time. The call began when
    /// it was sent first.
    pub(super) fn repeat(&mut self, sent: SentMessage) {
        self.transaction.request_bytes = sent.message.len() as u64;
        self.transaction.request = Some(sent.message);
        self.transaction.timings.asked_at = sent.at;
    }

    /// The client's message or batch.
    pub(super) fn into_sent(self) -> Option<SentMessage> {
        SentMessage::of(&self.transaction)
    }

    /// Whether the exchange is complete although no line says so: traces of older versions have no such
    /// lines.
    pub(super) fn is_over(&self) -> bool {
        let asked = self.transaction.request.is_some() || &*self.transaction.method != "POST";
        self.response == Response::Whole && asked
    }

    /// Whether its message is a notification.
    pub(super) fn is_notification(&self) -> bool {
        let request = self.transaction.request.as_deref();
        request.is_some_and(|request| Envelope::scan(request).kind == MessageKind::Notification)
    }

    /// Whether a line is going to say how it ended: recorders that name the connection always write one.
    pub(super) fn has_end(&self) -> bool {
        self.transaction.connection.is_some()
    }

    /// Extends the exchange to a time at which it was still open.
    pub(super) fn lasts_until(&mut self, at: Tick) {
        self.last = at;
    }

    /// The time of its last line.
    pub(super) fn last(&self) -> Tick {
        self.last
    }

    /// Whether only its end is missing.
    pub(super) fn is_answered(&self) -> bool {
        self.transaction.response.is_some()
    }

    /// Ends the exchange with the line that says how.
    pub(super) fn end_as_noted(self, note: &ExchangeNote<'_>, ended: Ended) -> Rebuilt {
        let (first, last) = (self.first, self.last);
        // The first line is written when its message is complete, which is later than the request's head. Its wall clock is the
        // one that counts: until the last line, the clock may be set.
        let since = note.duration_us.map_or(0, |us| first.us.saturating_sub(last.us.saturating_sub(us)));
        let mut rebuilt = self.end(first.before(since), ended);
        let transaction = &mut rebuilt.transaction;
        transaction.error = note.error.as_deref().map(str::to_owned);
        // Lines that are messages have their own length.
        if let (Some(_), Some(bytes)) = (note.progress, note.bytes) {
            transaction.response_bytes = bytes;
        }
        if note.duration_us.is_some() && transaction.connection.is_some() {
            transaction.timings.set_stages(note.stages);
            rebuilt.stages = StageTimes::Recorded;
        }
        rebuilt
    }

    /// Ends the exchange with its last line, because no line says how it ended.
    pub(super) fn ended(self, ended: Ended) -> Rebuilt {
        let started = self.first;
        self.end(started, ended)
    }

    fn end(self, started: Tick, ended: Ended) -> Rebuilt {
        let OpenExchange { mut transaction, last, answered, .. } = self;
        let us = |at: Tick| at.us.saturating_sub(started.us);
        transaction.timings = Timings {
            started: started.moment(),
            asked_at: transaction.timings.asked_at,
            answer_at: transaction.timings.answer_at,
            connected_us: None,
            answered_us: answered.map(us),
            first_byte_us: None,
            responded_us: None,
            ended_us: us(last),
        };
        transaction.ended = ended;
        let times = if last.since(started).is_some() { Times::Known } else { Times::Unknown };
        Rebuilt { transaction, times, stages: StageTimes::Unknown }
    }
}

/// An exchange as the proxy would hand it over, except for what a trace doesn't record.
pub(super) struct Rebuilt {
    pub(super) transaction: Transaction,
    pub(super) times: Times,
    pub(super) stages: StageTimes,
}

/// Whether the times of an exchange's stages are known. Older recorders wrote none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageTimes {
    Recorded,
    Unknown,
}

/// Whether durations are known. Imported and hand-written lines may have no times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Known,
    Unknown,
}

fn status(head: HeadJson<'_>) -> Option<u16> {
    u16::try_from(head.value()?.get("status")?.integer()?).ok()
}

/// Whether a media type is that of a page or widget.
fn is_html(media: &str) -> bool {
    let media = media.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("text/html")
}

/// A URL without its path, query and fragment.
pub(super) fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_cut_to_its_origin() {
        assert_eq!(origin("https://a.example:8443/mcp?x#y"), "https://a.example:8443");
        assert_eq!(origin("https://a.example"), "https://a.example");
        assert_eq!(origin("server/x"), "server");
    }
}
