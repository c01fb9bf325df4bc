//! Messages, framing, the v1 trace format and redaction for MCP recordings.
//!
//! This crate is pure: bytes and times come in as values, and nothing here knows a clock, an environment, a
//! terminal or an async runtime.
//!
//! - [`framing`]: from bytes to lines and server-sent events
//! - [`message`]: the envelope of one JSON-RPC payload, and its defects
//! - [`mod@format`]: the trace format, byte for byte, with its reader and writer
//! - [`compress`]: compressed traces
//! - [`import`]: transcripts of other programs, converted to traces
//! - [`challenge`]: the parameters of a `WWW-Authenticate` header
//! - [`redact`]: replacing secrets before anything is written
//! - [`name`]: labels and file names
//! - [`protocol`]: revisions, methods, `_meta` keys and headers of MCP
//! - [`mod@splice`]: replacing ranges of bytes
//! - [`value`]: JSON values as slices of the input
//! - [`json`]: the tokenizer that all of these build on

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
