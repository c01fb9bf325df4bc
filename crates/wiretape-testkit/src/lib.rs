//! What Wiretape's tests and benchmarks share: peers to record, a client to drive them with, and the means to look
//! at the outcome.
//!
//! | looking for | in |
//! |---|---|
//! | a server to wrap, well or badly behaved | the `wt-echo` binary |
//! | the least a recorder can cost | the `wt-tee` binary |
//! | what crossed the wire, kept by somebody who knows nothing of messages | the `wt-wire` binary |
//! | the server and the client that the official conformance suite asks for | the `wt-conformance-server` and `wt-conformance-client` binaries |
//! | an MCP server over HTTP to stand behind a proxy | the `wt-http-echo` binary |
//! | an MCP server that wants a login, and its authorization server | the `wt-oauth` binary |
//! | the least a proxy can cost | the `wt-http-relay` binary |
//! | a client that drives a process through its pipes | [`peer`] |
//! | clients that call a tool over HTTP as fast as it goes | [`load`], in a process of their own the `wt-http-load` binary |
//! | starting and stopping what serves HTTP | [`service`] |
//! | signalling a process, and whether it still runs | [`process`] |
//! | messages of a given size and kind | [`payload`] |
//! | how much memory a recorder took | [`memory`] |
//! | how much time on a processor, and on which | [`cpu`] |
//! | what it left on disk | [`traces`] |
//! | real MCP servers and SDKs, once `cargo xtask setup` has installed them | [`parts`] |
//!
//! Nothing here knows Wiretape's own crates: a fault in them can't hide in the tool that looks for it.

pub mod bins;
pub mod cpu;
pub mod http;
pub mod load;
pub mod memory;
pub mod parts;
pub mod payload;
pub mod peer;
#[cfg(unix)]
pub mod process;
pub mod service;
pub mod stdio;
pub mod traces;
mod tree;
mod watchdog;
