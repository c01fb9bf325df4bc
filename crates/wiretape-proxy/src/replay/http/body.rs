//! Response bodies: one message, or an event stream.

use super::session::Session;
use super::streams::EventId;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc::UnboundedReceiver;

/// Breaks the connection on purpose, to replay a recorded or injected fault.
#[derive(Debug, thiserror::Error)]
#[error("broken off on purpose")]
pub(super) struct BrokenOff;

/// An item of a stream.
#[derive(Debug)]
pub(super) enum StreamItem {
    /// An event, encoded for the wire.
    Bytes(Bytes),
    /// Breaks the connection instead of ending the stream.
    BreakOff,
}

/// Encodes a message as an event.
pub(super) fn event(message: &[u8], id: Option<EventId>) -> Bytes {
    match id {
        Some(id) => {
            let head = format!("id: {id}\nevent: message\ndata: ");
            Bytes::from([head.as_bytes(), message, b"\n\n"].concat())
        }
        None => named_event("message", message),
    }
}

/// An event with an id and empty data, from which a client can resume (MCP 2025-11-25, basic/transports).
pub(super) fn priming_event(id: EventId) -> Bytes {
    Bytes::from(format!("id: {id}\ndata: \n\n"))
}

/// Encodes an event with a name.
pub(super) fn named_event(name: &str, data: &[u8]) -> Bytes {
    let parts: [&[u8]; 5] = [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"];
    Bytes::from(parts.concat())
}

/// The body of a response.
pub(super) enum ReplayBody {
    Whole(Option<Bytes>),
    /// A body that is cut off after these bytes.
    Broken(Option<Bytes>),
    Stream(
        UnboundedReceiver<StreamItem>,
        #[expect(dead_code, reason = "its `Drop` reports that the client stopped reading")] StreamReader,
    ),
    /// The next poll breaks the connection.
    BreakingOff,
}

impl ReplayBody {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        ReplayBody::Whole((!bytes.is_empty()).then_some(bytes))
    }

    /// Breaks the connection at the next poll, so that hyper has flushed the bytes before.
    fn break_off<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        *self = ReplayBody::BreakingOff;
        // Pending once, because hyper flushes when a body has nothing more; an error right away would discard the
        // bytes before it.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A client that reads a stream. Dropped when the client has disconnected or the stream has ended.
pub(super) struct StreamReader {
    pub(super) session: Arc<Session>,
    pub(super) what: ListenedStream,
}

/// The stream that a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenedStream {
    /// A stream of the session, by its number.
    Stream(u64),
    /// The one stream of HTTP+SSE: the session ends with it.
    Everything,
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.session.stop_listening(self.what);
    }
}

impl Body for ReplayBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = self.get_mut();
        match this {
            ReplayBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            ReplayBody::Broken(bytes) => match bytes.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => this.break_off(cx),
            },
            ReplayBody::Stream(messages, _) => match std::task::ready!(messages.poll_recv(cx)) {
                Some(StreamItem::Bytes(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(StreamItem::BreakOff) => this.break_off(cx),
                None => Poll::Ready(None),
            },
            ReplayBody::BreakingOff => Poll::Ready(Some(Err(BrokenOff))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ReplayBody::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplayBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            _ => SizeHint::default(),
        }
    }
}
