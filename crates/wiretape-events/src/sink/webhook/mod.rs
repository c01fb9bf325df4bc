//! Sends events to a receiver over HTTP, each at least once. The [spool](super::spool) keeps them until then, and
//! decides when to send.
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
//! | `client` | one request, and the meaning of its response |

mod client;
mod options;
mod webhook_sink;

pub use options::{Secret, WebhookError, WebhookOptions};
pub use webhook_sink::WebhookSink;
