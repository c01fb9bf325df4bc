//! Sends events to a receiver over HTTP, each at least once.
//!
//! ```text
//! take ──▶ batch in memory ──▶ a file in the spool ──▶ sender's thread ──▶ POST, until a 2xx
//! ```
//!
//! A batch is sealed when it is large enough or old enough: it becomes a file in the spool, and only files in
//! the spool are sent. A file is removed after the receiver has answered 2xx. So a sealed batch survives the
//! end of the process, and may be delivered twice: the receiver recognizes an event by its `event_id`.
//!
//! The body is gzipped NDJSON, one event per line. `Idempotency-Key` is the same for every attempt at a
//! batch.
//!
//! | answer | what follows |
//! |---|---|
//! | 2xx | delivered |
//! | 401, 403, 408, 425, 429, 5xx, or no answer | retried with backoff, or after the time in `Retry-After` |
//! | 413 | sent in halves |
//! | any other | the batch is dropped and counted as lost. Redirects are not followed |
//!
//! | module | holds |
//! |---|---|
//! | `options` | the user's settings and their validation |
//! | `batch` | events that are not sealed yet |
//! | `segment` | a sealed batch: the name and content of its file |
//! | `directory` | the spool's directory: its lock, its files, directories left by dead processes |
//! | `spool` | the queue of segments, shared by both threads |
//! | `sender` | the thread that sends |
//! | `client` | one request, and the meaning of its response |
//! | `backoff` | the pauses between attempts |
//! | `trouble` | warnings for the user, once per problem |
//!
//! Memory is bounded whatever the receiver does: only the open batch and the segment being sent are in it.

mod backoff;
mod batch;
mod client;
mod directory;
mod options;
mod segment;
mod sender;
mod spool;
mod trouble;
mod webhook_sink;

pub use options::{Secret, WebhookError, WebhookOptions};
pub use spool::WebhookFigures;
pub use webhook_sink::WebhookSink;
