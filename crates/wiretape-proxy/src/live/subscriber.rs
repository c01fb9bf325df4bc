//! One viewer: its snapshot, its appends, its end.

use std::borrow::Cow;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use super::ring::{Next, Ring, SeqLine};

/// Messages above this are sent in fragments, so that a viewer costs no copy of a long message.
const FRAGMENT_BYTES: usize = 64 * 1024;

const MAX_INCOMING_BYTES: usize = 64 * 1024;

/// How long a closed viewer may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// The clocks of a viewer's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) heartbeat: Duration,
    pub(super) write_timeout: Duration,
}

/// Why a viewer's stream ended before the recording did.
enum Departure {
    /// The peer hung up, broke the protocol, or took no bytes for too long.
    Gone,
    /// The backlog has moved past what the viewer had read.
    Behind,
}

struct Subscriber<'r> {
    socket: WebSocketStream<TcpStream>,
    ring: &'r Ring,
    pace: Pace,
}

/// Streams the recording to an upgraded connection until either ends. `rest` is what the peer
/// already sent after its request.
pub(super) async fn serve(stream: TcpStream, rest: Vec<u8>, ring: &Ring, since: u64, pace: Pace) {
    let config = WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .max_message_size(Some(MAX_INCOMING_BYTES))
        .max_frame_size(Some(MAX_INCOMING_BYTES));
    let socket = WebSocketStream::from_partially_read(stream, rest, Role::Server, Some(config)).await;
    let mut subscriber = Subscriber { socket, ring, pace };
    match subscriber.stream(since).await {
        Ok(()) => {
            let reason = "the recording ended";
            subscriber.close(CloseCode::Normal, reason).await;
        }
        Err(Departure::Behind) => {
            let reason = "too slow for this recording: reconnect with ?since=";
            subscriber.close(CloseCode::Again, reason).await;
        }
        Err(Departure::Gone) => {}
    }
}

impl Subscriber<'_> {
    /// Sends everything after `since` until the recording ends.
    async fn stream(&mut self, since: u64) -> Result<(), Departure> {
        let mut cursor = self.send_snapshot(since).await?;
        let period = self.pace.heartbeat.max(Duration::from_millis(1));
        let mut heartbeat = interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ring = self.ring;
        loop {
            // In this order a stream of appends starves neither heartbeats nor pongs.
            tokio::select! {
                biased;
                _ = heartbeat.tick() => self.send_heartbeat().await?,
                incoming = self.socket.next() => match incoming {
                    // The answer to the peer's close frame is queued by now.
                    Some(Ok(Message::Close(_))) => self.flush().await?,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Err(Departure::Gone),
                },
                next = ring.wait_after(cursor) => match next {
                    Next::Lines(lines) => cursor = self.send_appends(&lines, cursor).await?,
                    Next::CaughtUp => {}
                    Next::Behind => return Err(Departure::Behind),
                    Next::Finished => return Ok(()),
                },
            }
        }
    }

    /// Returns the `_seq` up to which the viewer now has the recording.
    async fn send_snapshot(&mut self, since: u64) -> Result<u64, Departure> {
        let snapshot = self.ring.snapshot(since);
        let last = snapshot.last;
        let mut message = TextMessage::new(self);
        message.write(format!(r#"{{"type":"snapshot","lastSeq":{last},"#).as_bytes()).await?;
        if snapshot.dropped > 0 {
            message.write(format!(r#""dropped":{},"#, snapshot.dropped).as_bytes()).await?;
        }
        message.write(br#""lines":["#).await?;
        // By value, so that lines which left the backlog are freed as they are sent.
        for (index, line) in snapshot.lines.into_iter().enumerate() {
            if index > 0 {
                message.write(b",").await?;
            }
            message.write_line(&line).await?;
            if message.subscriber.ring.is_behind(last) {
                return Err(Departure::Behind);
            }
        }
        message.write(b"]}").await?;
        message.finish().await?;
        self.flush().await?;
        Ok(last)
    }

    async fn send_appends(&mut self, lines: &[SeqLine], cursor: u64) -> Result<u64, Departure> {
        for line in lines {
            let mut message = TextMessage::new(self);
            message.write(br#"{"type":"append","line":"#).await?;
            message.write_line(line).await?;
            message.write(b"}").await?;
            message.finish().await?;
        }
        self.flush().await?;
        Ok(lines.last().map_or(cursor, |(seq, _)| *seq))
    }

    async fn send_heartbeat(&mut self) -> Result<(), Departure> {
        self.feed(Message::text(r#"{"type":"heartbeat"}"#)).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: Message) -> Result<(), Departure> {
        let feeding = self.socket.feed(message);
        within(self.pace.write_timeout, feeding).await
    }

    async fn flush(&mut self) -> Result<(), Departure> {
        let flushing = self.socket.flush();
        within(self.pace.write_timeout, flushing).await
    }

    /// Sends the close frame and waits a little for the peer's, so that what it has not read yet
    /// is not lost to a reset.
    async fn close(&mut self, code: CloseCode, reason: &'static str) {
        let frame = CloseFrame { code, reason: reason.into() };
        let closing = self.socket.close(Some(frame));
        if within(self.pace.write_timeout, closing).await.is_ok() {
            let goodbye = async { while let Some(Ok(_)) = self.socket.next().await {} };
            let _ = timeout(GOODBYE, goodbye).await;
        }
    }
}

/// Awaits a write; a failed one and one that stalls are the same to us.
async fn within<E>(limit: Duration, write: impl Future<Output = Result<(), E>>) -> Result<(), Departure> {
    match timeout(limit, write).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Departure::Gone),
    }
}

/// A text message in the making, sent in fragments as it grows (RFC 6455, section 5.4).
struct TextMessage<'s, 'r> {
    subscriber: &'s mut Subscriber<'r>,
    buffer: Vec<u8>,
    opcode: Data,
}

impl<'s, 'r> TextMessage<'s, 'r> {
    fn new(subscriber: &'s mut Subscriber<'r>) -> Self {
        Self { subscriber, buffer: Vec::new(), opcode: Data::Text }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Departure> {
        for piece in bytes.chunks(FRAGMENT_BYTES) {
            if self.buffer.len() + piece.len() > FRAGMENT_BYTES {
                let payload = std::mem::take(&mut self.buffer);
                let frame = Frame::message(payload, OpCode::Data(self.opcode), false);
                self.opcode = Data::Continue;
                self.subscriber.feed(Message::Frame(frame)).await?;
            }
            self.buffer.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Writes a trace line with its `_seq`.
    async fn write_line(&mut self, (seq, line): &SeqLine) -> Result<(), Departure> {
        let (head, tail) = splice_seq(line, *seq);
        // Text messages must be UTF-8, or browsers hang up.
        match String::from_utf8_lossy(head) {
            Cow::Borrowed(_) => self.write(head).await?,
            Cow::Owned(repaired) => self.write(repaired.as_bytes()).await?,
        }
        self.write(tail.as_bytes()).await
    }

    async fn finish(self) -> Result<(), Departure> {
        let frame = Frame::message(self.buffer, OpCode::Data(self.opcode), true);
        self.subscriber.feed(Message::Frame(frame)).await
    }
}

/// A line up to where `_seq` goes, and what follows from there. A line that is not an object,
/// which the recorder never writes, becomes one with `_seq` alone.
fn splice_seq(line: &[u8], seq: u64) -> (&[u8], String) {
    let members = line.trim_ascii_end().strip_suffix(b"}").unwrap_or(b"{");
    match members.trim_ascii_end() {
        b"{" => (b"{", format!(r#""_seq":{seq}}}"#)),
        members => (members, format!(r#","_seq":{seq}}}"#)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let (head, tail) = splice_seq(line.as_bytes(), 7);
        assert_eq!(String::from_utf8_lossy(head) + tail.as_str(), expected);
    }

    #[test]
    fn seq_is_spliced_into_the_text() {
        check(r#"{"a":{}}"#, r#"{"a":{},"_seq":7}"#);
        check(r#"{"b":1.0,"b":12345678901234567890}"#, r#"{"b":1.0,"b":12345678901234567890,"_seq":7}"#);
        check(r#"{"_seq":1}"#, r#"{"_seq":1,"_seq":7}"#);
        check("{}", r#"{"_seq":7}"#);
        check("{ } \r\n", r#"{"_seq":7}"#);
        check("[1]", r#"{"_seq":7}"#);
    }
}
