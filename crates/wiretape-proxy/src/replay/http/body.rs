//! The bodies of responses: one message, or a stream of them.

use super::session::Session;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::ops::Range;
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
pub(super) fn event(message: &[u8]) -> Outgoing {
    named_event("message", message)
}

/// An event of a stream.
pub(super) fn named_event(name: &str, data: &[u8]) -> Outgoing {
    let parts: [&[u8]; 5] = [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"];
    Outgoing::Bytes(Bytes::from(parts.concat()))
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
}

impl ReplayBody {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        ReplayBody::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

/// A client that reads a stream. When it is dropped, the client has gone or the stream is through.
pub(super) struct Listening {
    pub(super) session: Arc<Session>,
    pub(super) what: Heard,
}

/// What is heard on a stream.
pub(super) enum Heard {
    /// The answers to these requests.
    Requests(Range<u64>),
    /// What is said between calls.
    Between,
    /// Everything: there is no session without it.
    Everything,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.session.stop_listening(&self.what);
    }
}

impl Body for ReplayBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            ReplayBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            ReplayBody::Broken(bytes) => Poll::Ready(Some(bytes.take().map(Frame::data).ok_or(BrokenOff))),
            ReplayBody::Stream(messages, _) => messages.poll_recv(cx).map(|message| match message? {
                Outgoing::Bytes(bytes) => Some(Ok(Frame::data(bytes))),
                Outgoing::BreakOff => Some(Err(BrokenOff)),
            }),
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
