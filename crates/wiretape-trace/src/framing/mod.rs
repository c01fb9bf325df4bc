//! From bytes to frames, without any I/O: push what arrived, pull what is complete.
//!
//! [`LineFramer`] splits newline-delimited messages (stdio), [`SseFramer`] server-sent events (HTTP). How the
//! bytes are chunked never changes the frames; a property test checks that.

mod lines;
mod sse;

pub use lines::{LineFrame, LineFramer};
pub use sse::{SseEvent, SseFramer};
