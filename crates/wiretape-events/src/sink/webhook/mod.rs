//! Sends events to a receiver over HTTP, each at least once.
//!
//! ```text
//! take ──▶ batch in memory ──▶ a file in the spool ──▶ sender's thread ──▶ POST, until a 2xx
//! ```
//!
//! A batch is sealed when it is large enough or old enough: it becomes a file of the spool, and only what is in the spool
//! is sent. A file is removed when the receiver has said 2xx. So what was sealed survives the end of the process, and may
//! arrive twice: the receiver knows an event again by its `event_id`.
//!
//! The body is NDJSON in gzip, an event on each line. `Idempotency-Key` is the same for every attempt at a batch.
//!
//! | answer | what follows |
//! |---|---|
//! | 2xx | delivered |
//! | 408, 425, 429, 5xx, none at all | tried again, with growing pauses or after what `Retry-After` says |
//! | 413 | sent in halves |
//! | any other | the batch is dropped and counted as lost. Redirects aren't followed |
//!
//! | module | holds |
//! |---|---|
//! | `options` | what the user can choose, and what is refused |
//! | `batch` | the events that are not sealed yet |
//! | `segment` | a sealed batch: the name and the content of its file |
//! | `directory` | the spool's directory: its lock, its files, those of dead processes |
//! | `spool` | what waits to be sent, shared by both threads |
//! | `sender` | the thread that sends |
//! | `client` | one request and what its answer means |
//! | `backoff` | how long to wait |
//! | `trouble` | what to tell the user, once |
//!
//! In memory are the open batch and the segment that is being sent, whatever the receiver does.

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
