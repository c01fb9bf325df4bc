//! What recorded MCP traffic says: calls, summaries of traces, statistics.
//!
//! This crate is pure. It is fed the records of a trace, in order, and answers questions about them; who reads
//! the file, and who prints the answer, is not its concern.
//!
//! - [`reading`]: the one interpretation of a trace, under all that follows
//! - [`call`]: where a request meets its response
//! - [`operation`]: calls that belong together
//! - [`listing`]: the calls of a trace, as they are listed
//! - [`clock`]: where the lines of several traces stand in one time
//! - [`filter`]: which calls and messages are meant
//! - [`text`]: finding text in payloads
//! - [`tokens`]: what a text costs in a model's context
//! - [`toolbox`]: what tools cost, and which are used
//! - [`summary`]: one trace in a few numbers
//! - [`stats`]: calls, failures and latencies, by tool
//! - [`export`]: traces in other formats
//! - [`definitions`]: what a server offers
//! - [`diff`]: how the calls of one trace differ from those of another
//! - [`drift`]: how what a server offers departs from what it offered before
//! - [`glance`]: what a payload says, in a few words
//! - [`lint`]: what departs from the specification, and where
//! - [`latency`]: how long calls took, and their percentiles
//! - [`replay`]: a trace as a server
//! - [`verify`]: a trace as a test of a server
//! - [`json_diff`]: how one JSON value differs from another
//! - [`volatile`]: what differs from run to run and means nothing
//! - [`mod@fingerprint`]: numbers that are equal for JSON values that mean the same
//! - [`align`]: two sequences side by side

pub mod align;
pub mod call;
pub mod clock;
pub mod definitions;
pub mod diff;
pub mod drift;
pub mod export;
pub mod filter;
pub mod fingerprint;
pub mod glance;
pub mod json_diff;
pub mod latency;
pub mod lint;
pub mod listing;
mod looks;
pub mod operation;
pub mod reading;
pub mod replay;
pub mod stats;
pub mod summary;
pub mod text;
pub mod tokens;
pub mod toolbox;
pub mod verify;
pub mod volatile;

#[cfg(test)]
mod testing;
