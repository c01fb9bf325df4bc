//! Analyzes recorded MCP traffic: calls, statistics, lint, diffs, exports, replay and verification.
//!
//! This crate is pure: it is fed the records of a trace, in order, and returns values. Reading files and printing is up to
//! the caller.
//!
//! - [`reading`]: the one interpretation of a trace, on which everything else builds
//! - [`call`]: matches responses to requests
//! - [`operation`]: calls that belong together
//! - [`listing`]: the calls of a trace in order, filtered
//! - [`clock`]: one time axis for the lines of several traces
//! - [`filter`]: the filter language for calls and messages
//! - [`text`]: finding text in payloads
//! - [`tokens`]: estimates the tokens of a text
//! - [`toolbox`]: token cost and usage of tools
//! - [`summary`]: the key figures of a trace
//! - [`stats`]: calls, failures and latencies, by tool
//! - [`export`]: traces in other formats
//! - [`definitions`]: the tools, prompts and resources that a server lists
//! - [`diff`]: compares the calls of two traces
//! - [`drift`]: definition changes since a baseline
//! - [`glance`]: one-line descriptions of payloads
//! - [`lint`]: violations of the specification
//! - [`latency`]: latencies and their percentiles
//! - [`replay`]: a trace as a server
//! - [`verify`]: a trace as a test of a server
//! - [`json_diff`]: compares two JSON values
//! - [`volatile`]: paths of values that differ from run to run
//! - [`mod@fingerprint`]: hashes that are equal for JSON values with the same meaning
//! - [`align`]: aligns two sequences

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
