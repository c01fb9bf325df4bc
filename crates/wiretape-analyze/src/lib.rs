//! What recorded MCP traffic says: calls, summaries of traces, statistics.
//!
//! This crate is pure. It is fed the records of a trace, in order, and answers questions about them; who reads
//! the file, and who prints the answer, is not its concern.
//!
//! - [`call`]: where a request meets its response
//! - [`operation`]: calls that belong together
//! - [`clock`]: where the lines of several traces stand in one time
//! - [`filter`]: which calls and messages are meant
//! - [`text`]: finding text in payloads
//! - [`tokens`]: what a text costs in a model's context
//! - [`summary`]: one trace in a few numbers
//! - [`stats`]: calls, failures and latencies, by tool
//! - [`export`]: traces in other formats
//! - [`latency`]: how long calls took, and their percentiles

pub mod call;
pub mod clock;
pub mod export;
pub mod filter;
pub mod latency;
pub mod operation;
pub mod stats;
pub mod summary;
pub mod text;
pub mod tokens;

#[cfg(test)]
mod testing;
