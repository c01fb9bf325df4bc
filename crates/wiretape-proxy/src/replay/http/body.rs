//! The bodies of responses: one message, or a stream of them.

use super::session::Session;
use super::streams::EventId;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc::UnboundedReceiver;

/// The connection is to break here, on purpose.
#[derive(Debug, thiserror::Error)]
#[error("broken off on purpose")]
pub(super) struct BrokenOff;

/// What goes out on a stream.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// Bytes.
    Bytes(Bytes),
    /// Nothing more, and not by an orderly end.
    BreakOff,
}

/// A message as an event of a stream.
pub(super) fn event(message: &[u8], id: Option<EventId>) -> Bytes {
    match id {
        Some(id) => {
            let head = format!("id: {id}\nevent: message\ndata: ");
            Bytes::from([head.as_bytes(), message, b"\n\n"].concat())
        }
        None => named_event("message", message),
    }
}

/// An event that says nothing but its id.
pub(super) fn priming_event(id: EventId) -> Bytes {
    Bytes::from(format!("id: {id}\ndata: \n\n"))
}

/// An event of a stream.
pub(super) fn named_event(name: &str, data: &[u8]) -> Bytes {
    let parts: [&[u8]; 5] = [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"];
    Bytes::from(parts.concat())
}

/// The body of a response.
pub(super) enum ReplayBody {
    Whole(Option<Bytes>),
    /// It ends in the middle.
    Broken(Option<Bytes>),
    Stream(
        UnboundedReceiver<Outgoing>,
        #[expect(dead_code, reason = "it tells when it is dropped")] Listening,
    ),
    /// It ends in the middle now.
    BreakingOff,
}

impl ReplayBody {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        ReplayBody::Whole((!bytes.is_empty()).then_some(bytes))
    }

    /// Ends in the middle, at the next poll: what was said before must be on its way by then.
    fn break_off<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        *self = ReplayBody::BreakingOff;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A client that reads a stream. When it is dropped, the client has gone or the stream is through.
pub(super) struct Listening {
    pub(super) session: Arc<Session>,
    pub(super) what: Heard,
}

/// What is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// A stream of the session.
    Stream(u64),
    /// Everything: there is no session without it.
    Everything,
}

impl Drop for Listening {
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
                Some(Outgoing::Bytes(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Outgoing::BreakOff) => this.break_off(cx),
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
