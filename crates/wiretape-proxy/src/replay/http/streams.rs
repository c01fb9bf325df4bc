//! The streams of a session: who listens, and what was sent.
//!
//! A client with a session may lose a stream and resume it, by the id of the last event that it got. So events have ids,
//! which say on which stream they were sent and as which, and a number of them is kept.

use super::body::{Outgoing, event, priming_event};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// So many events are kept for a client that resumes, and so many messages between calls for one that doesn't listen yet.
const KEPT: usize = 1000;

/// So many bytes of events are kept, or one event.
const KEPT_BYTES: usize = 1 << 20;

/// The stream for what is said between calls.
pub(super) const BETWEEN: u64 = 0;

/// Whether events have ids, by which a stream is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Events {
    WithIds,
    WithoutIds,
}

/// Whether a stream begins with an event that has an id and nothing else, so that it can be resumed from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    Primed,
    Bare,
}

/// The id of an event.
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

/// The streams of a session.
pub(super) struct Streams {
    events: Events,
    open: HashMap<u64, Stream>,
    opened: u64,
    /// The last events, of all streams.
    sent: VecDeque<(EventId, Bytes)>,
    sent_bytes: usize,
    /// What was said between calls while nobody listened.
    unsaid: VecDeque<Vec<u8>>,
}

#[derive(Default)]
struct Stream {
    /// Where it goes, if somebody listens.
    outlet: Option<UnboundedSender<Outgoing>>,
    /// How many events it had.
    events: u64,
    /// The requests that are to be answered on it.
    requests: Vec<u64>,
}

impl Stream {
    /// Sends something to whoever listens; whether somebody does.
    fn send(&mut self, outgoing: Outgoing) -> bool {
        let is_sent = self.outlet.as_ref().is_some_and(|outlet| outlet.send(outgoing).is_ok());
        if !is_sent {
            self.outlet = None;
        }
        is_sent
    }
}

impl Streams {
    pub(super) fn new(events: Events) -> Self {
        let open = HashMap::from([(BETWEEN, Stream::default())]);
        Streams { events, open, opened: 0, sent: VecDeque::new(), sent_bytes: 0, unsaid: VecDeque::new() }
    }

    /// Opens a stream for the answers to these requests.
    pub(super) fn open(
        &mut self,
        requests: Range<u64>,
        beginning: Beginning,
    ) -> (u64, UnboundedReceiver<Outgoing>) {
        self.opened += 1;
        self.open.insert(self.opened, Stream { requests: requests.collect(), ..Stream::default() });
        (self.opened, self.listen(self.opened, beginning))
    }

    /// Opens the stream for what is said between calls. A client that opens another has lost the first.
    pub(super) fn open_between(&mut self, beginning: Beginning) -> UnboundedReceiver<Outgoing> {
        let receiver = self.listen(BETWEEN, beginning);
        self.say_unsaid();
        receiver
    }

    fn listen(&mut self, number: u64, beginning: Beginning) -> UnboundedReceiver<Outgoing> {
        let (sender, receiver) = unbounded_channel();
        let stream = self.open.entry(number).or_default();
        if beginning == Beginning::Primed && self.events == Events::WithIds {
            let id = EventId { stream: number, number: stream.events };
            // The other end is in our hands.
            let _ = sender.send(Outgoing::Bytes(priming_event(id)));
        }
        stream.outlet = Some(sender);
        receiver
    }

    /// Goes on with a stream after the event with this id; `None` if what followed isn't known any more.
    pub(super) fn resume(&mut self, last: &str) -> Option<(u64, UnboundedReceiver<Outgoing>)> {
        let last = EventId::parse(last)?;
        let of_stream = || self.sent.iter().filter(|(id, _)| id.stream == last.stream);
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
            // The other end is in our hands.
            let _ = sender.send(Outgoing::Bytes(bytes.clone()));
        }
        if let Some(stream) = self.open.get_mut(&last.stream) {
            stream.outlet = Some(sender);
        }
        if last.stream == BETWEEN {
            self.say_unsaid();
        }
        Some((last.stream, receiver))
    }

    /// Sends a message on a stream.
    pub(super) fn send(&mut self, number: u64, message: &[u8]) {
        let Some(stream) = self.open.get_mut(&number) else { return self.say(message) };
        if number == BETWEEN && stream.outlet.as_ref().is_none_or(UnboundedSender::is_closed) {
            if self.unsaid.len() < KEPT {
                self.unsaid.push_back(message.to_vec());
            }
            return;
        }
        let bytes = self.write_down(number, message);
        if let Some(stream) = self.open.get_mut(&number) {
            stream.send(Outgoing::Bytes(bytes));
        }
    }

    /// Sends what is said between calls.
    pub(super) fn say(&mut self, message: &[u8]) {
        self.send(BETWEEN, message);
    }

    /// Sends something that is no message, on the stream for what is said between calls.
    pub(super) fn say_other(&mut self, outgoing: Outgoing) {
        if let Some(stream) = self.open.get_mut(&BETWEEN) {
            stream.send(outgoing);
        }
    }

    /// Breaks the connection after a part of a message. Who resumes gets the whole.
    pub(super) fn break_off(&mut self, number: u64, message: &[u8], part: usize) {
        let bytes = self.write_down(number, message);
        let Some(stream) = self.open.get_mut(&number) else { return };
        if part > 0 {
            let left_out = message.len() - part + END;
            stream.send(Outgoing::Bytes(bytes.slice(..bytes.len() - left_out)));
        }
        stream.send(Outgoing::BreakOff);
        stream.outlet = None;
    }

    /// A message as an event, which is kept if it can be asked for again.
    fn write_down(&mut self, number: u64, message: &[u8]) -> Bytes {
        if self.events == Events::WithoutIds {
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

    fn say_unsaid(&mut self) {
        for message in std::mem::take(&mut self.unsaid) {
            self.say(&message);
        }
    }

    /// Nothing more will be said to a request; its stream ends when that is so for all that are answered there.
    pub(super) fn close(&mut self, number: u64, request: u64) {
        let Some(stream) = self.open.get_mut(&number) else { return };
        stream.requests.retain(|other| *other != request);
        if stream.requests.is_empty() {
            self.open.remove(&number);
        }
    }

    /// Ends a stream that nobody wants any more. Returns the requests that were not answered yet.
    pub(super) fn give_up(&mut self, number: u64) -> Vec<u64> {
        self.open.remove(&number).map(|stream| stream.requests).unwrap_or_default()
    }

    /// Nothing more will be said at all.
    pub(super) fn close_all(&mut self) {
        *self = Streams::new(self.events);
    }
}

/// How many bytes an event has after its message.
const END: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// What is there to be heard, an event after the other.
    fn heard(receiver: &mut UnboundedReceiver<Outgoing>) -> String {
        let mut heard = String::new();
        while let Ok(outgoing) = receiver.try_recv() {
            match outgoing {
                Outgoing::Bytes(bytes) => heard.push_str(std::str::from_utf8(&bytes).unwrap()),
                Outgoing::BreakOff => heard.push('!'),
            }
        }
        let plain = heard.replace("id: ", "#").replace("\nevent: message", "").replace("\ndata: ", " ");
        plain.replace(" \n\n", ";").replace("\n\n", ";").replace(";#", "; #")
    }

    #[test]
    fn a_stream_goes_on_where_it_was_lost() {
        let mut streams = Streams::new(Events::WithIds);
        let (one, mut listener) = streams.open(1..2, Beginning::Primed);
        let (other, _) = streams.open(2..4, Beginning::Bare);
        streams.send(one, b"a");
        streams.send(other, b"x");
        streams.send(one, b"b");
        assert_eq!(heard(&mut listener), "#1-0; #1-1 a; #1-2 b;");
        drop(listener);
        streams.send(one, b"c");
        let (number, mut listener) = streams.resume("1-1").unwrap();
        assert_eq!(number, one);
        streams.send(one, b"d");
        let all = heard(&mut listener);
        assert!(!all.contains('a') && !all.contains('x') && all.contains('b') && all.contains('d'), "{all}");
        streams.close(one, 1);
        let (_, mut listener) = streams.resume("1-0").unwrap();
        assert!(heard(&mut listener).contains('a') && listener.is_closed());
        for unknown in ["", "1", "9-1", "x-y", "1--1"] {
            assert!(streams.resume(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn what_was_let_go_cannot_be_resumed() {
        let mut streams = Streams::new(Events::WithIds);
        let (one, _listener) = streams.open(1..2, Beginning::Bare);
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
        let mut streams = Streams::new(Events::WithIds);
        let (one, mut listener) = streams.open(1..2, Beginning::Primed);
        streams.break_off(one, b"abcdef", 3);
        assert!(heard(&mut listener).ends_with("abc!"));
        streams.close(one, 1);
        let (_, mut listener) = streams.resume("1-0").unwrap();
        assert!(heard(&mut listener).contains("abcdef"));
    }

    #[test]
    fn what_is_said_between_calls_waits_for_a_listener() {
        let mut streams = Streams::new(Events::WithIds);
        streams.say(b"a");
        let mut listener = streams.open_between(Beginning::Bare);
        streams.say(b"b");
        let all = heard(&mut listener);
        assert!(all.contains("#0-1 a") && all.contains("#0-2 b"), "{all}");
        drop(listener);
        streams.say(b"c");
        let (_, mut listener) = streams.resume("0-1").unwrap();
        let all = heard(&mut listener);
        assert!(all.contains("#0-2 b") && all.contains("#0-3 c"), "{all}");
    }
}
