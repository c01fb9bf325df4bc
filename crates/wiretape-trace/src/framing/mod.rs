//! From bytes to frames, without any I/O: push what arrived, pull what is complete.
//!
//! [`LineFramer`] cuts newline-delimited messages (stdio), [`SseFramer`] server-sent events (HTTP). How the
//! bytes were cut on their way never changes the frames that come out.

mod lines;
mod sse;

pub use lines::{LineFrame, LineFramer};
pub use sse::{SseEvent, SseFramer};
