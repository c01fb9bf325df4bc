//! Messages, framing, the v1 trace format and redaction for MCP recordings.
//!
//! This crate is pure: bytes and times come in as values, and nothing here knows a clock, an environment, a
//! terminal or an async runtime.
//!
//! - [`framing`]: from bytes to lines and server-sent events
//! - [`message`]: what one JSON-RPC payload says of itself, and what is wrong with it
//! - [`mod@format`]: the trace format, byte for byte, with its reader and writer
//! - [`compress`]: traces that are compressed whole
//! - [`import`]: transcripts of other programs, brought in as traces
//! - [`challenge`]: what a `WWW-Authenticate` header asks for
//! - [`redact`]: secrets out, before anything is written
//! - [`name`]: labels and file names
//! - [`protocol`]: revisions, methods, `_meta` keys and headers of MCP
//! - [`mod@splice`]: bytes with a few places changed
//! - [`value`]: JSON values where they stand
//! - [`json`]: the tokenizer under all of these

pub mod challenge;
pub mod compress;
pub mod format;
pub mod framing;
pub mod import;
pub mod json;
pub mod message;
pub mod name;
pub mod protocol;
pub mod redact;
pub mod splice;
pub mod value;
