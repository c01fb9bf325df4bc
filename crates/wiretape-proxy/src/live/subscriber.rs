//! The connection of one viewer: its snapshot, its appended lines, and its close.

use std::borrow::Cow;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use super::ring::{BacklogRead, Ring, SeqLine};

/// Messages above this size are sent in fragments, so that a long line is never copied whole for a viewer.
const FRAGMENT_BYTES: usize = 64 * 1024;

// Viewers send pongs and a close frame. The default of tungstenite, 64 MiB per message, would let each viewer fill as
// much memory.
const MAX_INCOMING_BYTES: usize = 64 * 1024;

/// How long to wait for the viewer's close frame after ours.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The heartbeat and the timeout of a viewer's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ViewerTiming {
    pub(super) heartbeat: Duration,
    pub(super) write_timeout: Duration,
}

/// Why a viewer's stream ended before the recording did.
enum Disconnect {
    /// The peer closed the connection, violated the protocol, or accepted no bytes for too long.
    Gone,
    /// The backlog has moved past what the viewer had read.
    Behind,
}

struct Subscriber<'r> {
    socket: WebSocketStream<TcpStream>,
    ring: &'r Ring,
    timing: ViewerTiming,
}

/// Streams the recording to an upgraded connection until either ends. `rest` holds the bytes that the peer sent right after
/// its request.
pub(super) async fn serve(stream: TcpStream, rest: Vec<u8>, ring: &Ring, since: u64, timing: ViewerTiming) {
    let config = WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .max_message_size(Some(MAX_INCOMING_BYTES))
        .max_frame_size(Some(MAX_INCOMING_BYTES));
    let socket = WebSocketStream::from_partially_read(stream, rest, Role::Server, Some(config)).await;
    let mut subscriber = Subscriber { socket, ring, timing };
    match subscriber.stream(since).await {
        Ok(()) => {
            let reason = "the recording ended";
            subscriber.close(CloseCode::Normal, reason).await;
        }
        Err(Disconnect::Behind) => {
            let reason = "too slow for this recording: reconnect with ?since=";
            subscriber.close(CloseCode::Again, reason).await;
        }
        Err(Disconnect::Gone) => {}
    }
}

impl Subscriber<'_> {
    /// Sends everything after `since` until the recording ends.
    async fn stream(&mut self, since: u64) -> Result<(), Disconnect> {
        let mut cursor = self.send_snapshot(since).await?;
        let period = self.timing.heartbeat.max(Duration::from_millis(1));
        let mut heartbeat = interval_at(Instant::now() + period, period);
        // After a long write, one heartbeat is enough.
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ring = self.ring;
        loop {
            // Biased, so that a steady stream of appends can't starve heartbeats or pongs.
            tokio::select! {
                biased;
                _ = heartbeat.tick() => self.send_heartbeat().await?,
                incoming = self.socket.next() => match incoming {
                    // The library has queued the reply to the peer's close frame.
                    Some(Ok(Message::Close(_))) => self.flush().await?,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Err(Disconnect::Gone),
                },
                next = ring.wait_after(cursor) => match next {
                    BacklogRead::Lines(lines) => cursor = self.send_appends(&lines, cursor).await?,
                    BacklogRead::CaughtUp => {}
                    BacklogRead::Behind => return Err(Disconnect::Behind),
                    BacklogRead::Finished => return Ok(()),
                },
            }
        }
    }

    /// Returns the `_seq` up to which the viewer now has the recording.
    async fn send_snapshot(&mut self, since: u64) -> Result<u64, Disconnect> {
        let snapshot = self.ring.snapshot(since);
        let last = snapshot.last;
        let mut message = TextMessage::new(self);
        message.write(format!(r#"{{"type":"snapshot","lastSeq":{last},"#).as_bytes()).await?;
        if snapshot.dropped > 0 {
            message.write(format!(r#""dropped":{},"#, snapshot.dropped).as_bytes()).await?;
        }
        message.write(br#""lines":["#).await?;
        // By value, so that evicted lines are freed as they are sent.
        for (index, line) in snapshot.lines.into_iter().enumerate() {
            if index > 0 {
                message.write(b",").await?;
            }
            message.write_line(&line).await?;
            // Checked per line: a viewer that takes minutes for its snapshot would otherwise keep all of it in
            // memory, only to be disconnected right after it.
            if message.subscriber.ring.is_behind(last) {
                return Err(Disconnect::Behind);
            }
        }
        message.write(b"]}").await?;
        message.finish().await?;
        self.flush().await?;
        Ok(last)
    }

    async fn send_appends(&mut self, lines: &[SeqLine], cursor: u64) -> Result<u64, Disconnect> {
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

    async fn send_heartbeat(&mut self) -> Result<(), Disconnect> {
        self.feed(Message::text(r#"{"type":"heartbeat"}"#)).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: Message) -> Result<(), Disconnect> {
        let feeding = self.socket.feed(message);
        within(self.timing.write_timeout, feeding).await
    }

    async fn flush(&mut self) -> Result<(), Disconnect> {
        let flushing = self.socket.flush();
        within(self.timing.write_timeout, flushing).await
    }

    /// Sends the close frame and waits briefly for the peer's, so that a reset can't discard what the peer has not read yet.
    async fn close(&mut self, code: CloseCode, reason: &'static str) {
        let frame = CloseFrame { code, reason: reason.into() };
        let closing = self.socket.close(Some(frame));
        if within(self.timing.write_timeout, closing).await.is_ok() {
            let drained = async { while let Some(Ok(_)) = self.socket.next().await {} };
            let _ = timeout(CLOSE_TIMEOUT, drained).await;
        }
    }
}

/// Awaits a write; a write that stalls counts as failed.
async fn within<E>(limit: Duration, write: impl Future<Output = Result<(), E>>) -> Result<(), Disconnect> {
    match timeout(limit, write).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Disconnect::Gone),
    }
}

/// A text message under construction, sent in fragments as it grows (RFC 6455, section 5.4).
struct TextMessage<'s, 'r> {
    subscriber: &'s mut Subscriber<'r>,
    buffer: Vec<u8>,
    opcode: Data,
}

impl<'s, 'r> TextMessage<'s, 'r> {
    fn new(subscriber: &'s mut Subscriber<'r>) -> Self {
        Self { subscriber, buffer: Vec::new(), opcode: Data::Text }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Disconnect> {
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
    async fn write_line(&mut self, (seq, line): &SeqLine) -> Result<(), Disconnect> {
        let (head, tail) = splice_seq(line, *seq);
        // Text messages must be UTF-8 (RFC 6455, section 8.1); browsers close the connection otherwise.
        match String::from_utf8_lossy(head) {
            Cow::Borrowed(_) => self.write(head).await?,
            Cow::Owned(repaired) => self.write(repaired.as_bytes()).await?,
        }
        self.write(tail.as_bytes()).await
    }

    async fn finish(self) -> Result<(), Disconnect> {
        let frame = Frame::message(self.buffer, OpCode::Data(self.opcode), true);
        self.subscriber.feed(Message::Frame(frame)).await
    }
}

/// The part of a line before `_seq` is inserted, and the rest with it. A line that is not an object, which the recorder never
/// writes, becomes an object with `_seq` alone.
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
