//! The streams of a session, and the events that are kept for resuming them.
//!
//! A client with a session may lose a stream and resume it after the id of the last event that it received (MCP 2025-11-25,
//! basic/transports, "Resumability and Redelivery"). So event ids contain the number of the stream and of the event on it, and
//! a limited number of events is kept.

use super::body::{StreamItem, event, priming_event};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The limit of events kept for resuming, and of messages kept for a client that hasn't opened its listening stream yet.
const KEPT: usize = 1000;

/// The limit of the kept events in bytes; one event is always kept.
const KEPT_BYTES: usize = 1 << 20;

/// The number of the listening stream, for messages that belong to no request.
pub(super) const BETWEEN: u64 = 0;

/// Whether events have ids, so that a stream can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventIds {
    WithIds,
    WithoutIds,
}

/// Whether a stream begins with a priming event, so that it can be resumed from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStart {
    Primed,
    Bare,
}

/// The id of an event: its stream, and its number on that stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    stream: u64,
    number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

impl EventId {
    fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        Some(EventId { stream: stream.parse().ok()?, number: number.parse().ok()? })
    }
}

/// The streams of a session, and their kept events.
pub(super) struct Streams {
    events: EventIds,
    open: HashMap<u64, Stream>,
    opened: u64,
    /// The most recent events of all streams.
    sent: VecDeque<(EventId, Bytes)>,
    sent_bytes: usize,
    /// Messages for the listening stream while it is not open.
    queued: VecDeque<Vec<u8>>,
}

#[derive(Default)]
struct Stream {
    /// The sending end, if a client reads the stream.
    outlet: Option<UnboundedSender<StreamItem>>,
    /// The number of events sent so far.
    events: u64,
    /// The unanswered requests of the stream.
    requests: Vec<u64>,
}

impl Stream {
    /// Sends an item. `false` if no client reads the stream.
    fn send(&mut self, outgoing: StreamItem) -> bool {
        let is_sent = self.outlet.as_ref().is_some_and(|outlet| outlet.send(outgoing).is_ok());
        if !is_sent {
            self.outlet = None;
        }
        is_sent
    }
}

impl Streams {
    pub(super) fn new(events: EventIds) -> Self {
        let open = HashMap::from([(BETWEEN, Stream::default())]);
        Streams { events, open, opened: 0, sent: VecDeque::new(), sent_bytes: 0, queued: VecDeque::new() }
    }

    /// Opens a stream for the answers to these requests.
    pub(super) fn open(
        &mut self,
        requests: Range<u64>,
        beginning: StreamStart,
    ) -> (u64, UnboundedReceiver<StreamItem>) {
        self.opened += 1;
        self.open.insert(self.opened, Stream { requests: requests.collect(), ..Stream::default() });
        (self.opened, self.listen(self.opened, beginning))
    }

    /// Opens the listening stream. A client that opens it again has lost the first one.
    pub(super) fn open_between(&mut self, beginning: StreamStart) -> UnboundedReceiver<StreamItem> {
        let receiver = self.listen(BETWEEN, beginning);
        self.send_queued();
        receiver
    }

    fn listen(&mut self, number: u64, beginning: StreamStart) -> UnboundedReceiver<StreamItem> {
        let (sender, receiver) = unbounded_channel();
        let stream = self.open.entry(number).or_default();
        if beginning == StreamStart::Primed && self.events == EventIds::WithIds {
            let id = EventId { stream: number, number: stream.events };
            // Can't fail: the receiver is still in this function.
            let _ = sender.send(StreamItem::Bytes(priming_event(id)));
        }
        stream.outlet = Some(sender);
        receiver
    }

    /// Resumes a stream after the event with this id; `None` if the events after it are not kept.
    pub(super) fn resume(&mut self, last: &str) -> Option<(u64, UnboundedReceiver<StreamItem>)> {
        let last = EventId::parse(last)?;
        let of_stream = || self.sent.iter().filter(|(id, _)| id.stream == last.stream);
        // A stream that is complete is no longer open, but its last events may still be kept.
        let is_known = self.open.contains_key(&last.stream) || of_stream().next().is_some();
        let missed: Vec<&(EventId, Bytes)> = of_stream().filter(|(id, _)| id.number > last.number).collect();
        let is_whole = match missed.first() {
            Some((first, _)) => first.number == last.number + 1,
            None => self.open.get(&last.stream).is_none_or(|stream| stream.events <= last.number),
        };
        if !is_known || !is_whole {
            return None;
        }
        let (sender, receiver) = unbounded_channel();
        for (_, bytes) in missed {
            // Can't fail: the receiver is still in this function.
            let _ = sender.send(StreamItem::Bytes(bytes.clone()));
        }
        if let Some(stream) = self.open.get_mut(&last.stream) {
            stream.outlet = Some(sender);
        }
        if last.stream == BETWEEN {
            self.send_queued();
        }
        Some((last.stream, receiver))
    }

    /// Sends a message on a stream.
    pub(super) fn send(&mut self, number: u64, message: &[u8]) {
        let Some(stream) = self.open.get_mut(&number) else { return self.send_between(message) };
        if number == BETWEEN && stream.outlet.as_ref().is_none_or(UnboundedSender::is_closed) {
            // The listening stream is optional, so a client may never open it.
            if self.queued.len() < KEPT {
                self.queued.push_back(message.to_vec());
            }
            return;
        }
        let bytes = self.encode_and_keep(number, message);
        if let Some(stream) = self.open.get_mut(&number) {
            stream.send(StreamItem::Bytes(bytes));
        }
    }

    /// Sends a message on the listening stream.
    pub(super) fn send_between(&mut self, message: &[u8]) {
        self.send(BETWEEN, message);
    }

    /// Sends an item that is not a message on the listening stream.
    pub(super) fn send_item_between(&mut self, outgoing: StreamItem) {
        if let Some(stream) = self.open.get_mut(&BETWEEN) {
            stream.send(outgoing);
        }
    }

    /// Breaks the connection after a part of a message. A client that resumes gets the whole message.
    pub(super) fn break_off(&mut self, number: u64, message: &[u8], part: usize) {
        let bytes = self.encode_and_keep(number, message);
        let Some(stream) = self.open.get_mut(&number) else { return };
        if part > 0 {
            let left_out = message.len() - part + END;
            stream.send(StreamItem::Bytes(bytes.slice(..bytes.len() - left_out)));
        }
        stream.send(StreamItem::BreakOff);
        stream.outlet = None;
    }

    /// Encodes a message as an event, and keeps it if the stream can be resumed.
    fn encode_and_keep(&mut self, number: u64, message: &[u8]) -> Bytes {
        if self.events == EventIds::WithoutIds {
            return event(message, None);
        }
        let stream = self.open.entry(number).or_default();
        stream.events += 1;
        let id = EventId { stream: number, number: stream.events };
        let bytes = event(message, Some(id));
        self.sent_bytes += bytes.len();
        self.sent.push_back((id, bytes.clone()));
        while self.sent.len() > KEPT || (self.sent_bytes > KEPT_BYTES && self.sent.len() > 1) {
            self.sent_bytes -= self.sent.pop_front().map_or(0, |(_, oldest)| oldest.len());
        }
        bytes
    }

    fn send_queued(&mut self) {
        for message in std::mem::take(&mut self.queued) {
            self.send_between(&message);
        }
    }

    /// Removes a request from its stream; the stream ends with its last request.
    pub(super) fn close(&mut self, number: u64, request: u64) {
        let Some(stream) = self.open.get_mut(&number) else { return };
        stream.requests.retain(|other| *other != request);
        // Dropping the sender ends the client's stream.
        if stream.requests.is_empty() {
            self.open.remove(&number);
        }
    }

    /// Removes a stream that the client has closed. Returns its unanswered requests.
    pub(super) fn abandon(&mut self, number: u64) -> Vec<u64> {
        self.open.remove(&number).map(|stream| stream.requests).unwrap_or_default()
    }

    /// Closes all streams, so that their clients reconnect or end.
    pub(super) fn close_all(&mut self) {
        *self = Streams::new(self.events);
    }
}

/// The number of bytes of an event after its message.
const END: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// The items available to the reader, concatenated.
    fn bytes_read(receiver: &mut UnboundedReceiver<StreamItem>) -> String {
        let mut bytes_read = String::new();
        while let Ok(outgoing) = receiver.try_recv() {
            match outgoing {
                StreamItem::Bytes(bytes) => bytes_read.push_str(std::str::from_utf8(&bytes).unwrap()),
                StreamItem::BreakOff => bytes_read.push('!'),
            }
        }
        let plain = bytes_read.replace("id: ", "#").replace("\nevent: message", "").replace("\ndata: ", " ");
        plain.replace(" \n\n", ";").replace("\n\n", ";").replace(";#", "; #")
    }

    #[test]
    fn a_stream_goes_on_where_it_was_lost() {
        let mut streams = Streams::new(EventIds::WithIds);
        let (one, mut listener) = streams.open(1..2, StreamStart::Primed);
        let (other, _) = streams.open(2..4, StreamStart::Bare);
        streams.send(one, b"a");
        streams.send(other, b"x");
        streams.send(one, b"b");
        assert_eq!(bytes_read(&mut listener), "#1-0; #1-1 a; #1-2 b;");
        drop(listener);
        streams.send(one, b"c");
        let (number, mut listener) = streams.resume("1-1").unwrap();
        assert_eq!(number, one);
        streams.send(one, b"d");
        let all = bytes_read(&mut listener);
        assert!(!all.contains('a') && !all.contains('x') && all.contains('b') && all.contains('d'), "{all}");
        streams.close(one, 1);
        let (_, mut listener) = streams.resume("1-0").unwrap();
        assert!(bytes_read(&mut listener).contains('a') && listener.is_closed());
        for unknown in ["", "1", "9-1", "x-y", "1--1"] {
            assert!(streams.resume(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn what_was_let_go_cannot_be_resumed() {
        let mut streams = Streams::new(EventIds::WithIds);
        let (one, _listener) = streams.open(1..2, StreamStart::Bare);
        for _ in 0..KEPT + 5 {
            streams.send(one, b"a");
        }
        assert!(streams.resume("1-4").is_none() && streams.resume("1-5").is_some());
        streams.send(one, &vec![b'x'; 2 * KEPT_BYTES]);
        assert!(streams.resume("1-5").is_none());
        assert!(streams.resume(&format!("1-{}", KEPT + 5)).is_some());
    }

    #[test]
    fn what_breaks_off_is_whole_when_it_is_resumed() {
        let mut streams = Streams::new(EventIds::WithIds);
        let (one, mut listener) = streams.open(1..2, StreamStart::Primed);
        streams.break_off(one, b"abcdef", 3);
        assert!(bytes_read(&mut listener).ends_with("abc!"));
        streams.close(one, 1);
        let (_, mut listener) = streams.resume("1-0").unwrap();
        assert!(bytes_read(&mut listener).contains("abcdef"));
    }

    #[test]
    fn what_is_said_between_calls_waits_for_a_listener() {
        let mut streams = Streams::new(EventIds::WithIds);
        streams.send_between(b"a");
        let mut listener = streams.open_between(StreamStart::Bare);
        streams.send_between(b"b");
        let all = bytes_read(&mut listener);
        assert!(all.contains("#0-1 a") && all.contains("#0-2 b"), "{all}");
        drop(listener);
        streams.send_between(b"c");
        let (_, mut listener) = streams.resume("0-1").unwrap();
        let all = bytes_read(&mut listener);
        assert!(all.contains("#0-2 b") && all.contains("#0-3 c"), "{all}");
    }
}
