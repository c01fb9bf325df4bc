//! What recorded MCP traffic says: calls, summaries of traces, statistics.
//!
//! This crate is pure. It is fed the records of a trace, in order, and answers questions about them; who reads
//! the file, and who prints the answer, is not its concern.
//!
//! - [`call`]: where a request meets its response
//! - [`summary`]: one trace in a few numbers
//! - [`stats`]: calls, failures and latencies, by tool
//! - [`export`]: traces in other formats
//! - [`latency`]: how long calls took, and their percentiles

pub mod call;
pub mod export;
pub mod latency;
pub mod stats;
pub mod summary;

#[cfg(test)]
mod testing;
