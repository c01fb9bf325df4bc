//! A spool: delivers events to somewhere that may be slow or down, each at least once.
//!
//! ```text
//! push ──▶ the open segment, on disk ──▶ a sealed segment ──▶ sender's thread ──▶ Deliver, until it accepts
//! ```
//!
//! What differs between destinations is one attempt: [`Deliver`]. The rest is here: segments on disk, their tokens,
//! backoff, bounds, counted losses, and restarts.
//!
//! Events are appended to the open segment by each [`commit`](Spool::commit). A segment is sealed when it is large
//! enough or old enough: it is compressed, gets its final name, and only then can be sent. A sealed segment is
//! removed after it was delivered. So committed events survive `kill -9` (but not the machine's: nothing is synced, as
//! that would cost more than the traffic), and may be delivered twice: the receiver recognizes a segment by its
//! token, and an event by its `event_id`. The next start seals what it finds open; a last line that was cut off is
//! dropped and counted.
//!
//! | module | holds |
//! |---|---|
//! | `options` | the bounds and pauses |
//! | `deliver` | the trait that a destination implements |
//! | `handle` | the side of the sink: fills segments and seals them |
//! | `batch` | the events of the open segment, in memory |
//! | `open_file` | the open segment's file |
//! | `segment` | a sealed segment: the name and content of its file |
//! | `directory` | the spool's directory: its lock, its files, directories left by dead processes |
//! | `queue` | the queue of sealed segments, shared by both threads |
//! | `sender` | the thread that sends |
//! | `backoff` | the pauses between attempts |
//! | `trouble` | warnings for the user, once per problem |
//!
//! Memory is bounded whatever the destination does: only the open segment and the one being sent are in it. On disk,
//! the sealed segments take at most [`SpoolOptions::max_bytes`], and the open one [`SpoolOptions::batch_bytes`] or
//! one event.

mod backoff;
mod batch;
mod deliver;
mod directory;
mod handle;
mod open_file;
mod options;
mod queue;
mod segment;
mod sender;
mod trouble;

pub use backoff::retry_after;
pub use deliver::{Deliver, Delivery};
pub use handle::Spool;
pub use options::{SpoolError, SpoolOptions};
pub use queue::SpoolFigures;
pub use segment::UploadPart;
