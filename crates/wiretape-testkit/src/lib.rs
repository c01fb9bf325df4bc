//! What Wiretape's tests and benchmarks share: servers to record, clients to drive them, and measurements of the
//! result.
//!
//! | looking for | in |
//! |---|---|
//! | a server to wrap, well or badly behaved | the `wt-echo` binary |
//! | the least a recorder can cost | the `wt-tee` binary |
//! | the raw bytes that crossed the wire, recorded without parsing | the `wt-wire` binary |
//! | the server and the client that the official conformance suite asks for | the `wt-conformance-server` and `wt-conformance-client` binaries |
//! | an MCP server over HTTP, as the upstream of a proxy | the `wt-http-echo` binary |
//! | an MCP server that requires a login, and its authorization server | the `wt-oauth` binary |
//! | the least a proxy can cost | the `wt-http-relay` binary; without HTTP, `wt-tcp-relay`; with heads as bytes, `wt-paired-relay` |
//! | what follows HTTP/1.1 without parsing bodies | [`framer`] |
//! | clients that read streams of events | [`load::Streams`]; in a separate process, `wt-http-load --streams` |
//! | a client that drives a process through its pipes | [`peer`] |
//! | clients that call a tool over HTTP as fast as possible | [`load`]; in a separate process, the `wt-http-load`
//! binary |
//! | starting and stopping an HTTP server | [`service`] |
//! | signalling a process, and whether it still runs | [`process`] |
//! | messages of a given size and kind | [`payload`] |
//! | how much memory a recorder used | [`memory`] |
//! | how much CPU time it used, and on which processor | [`cpu`] |
//! | what it wrote to disk | [`traces`] |
//! | real MCP servers and SDKs, once `cargo xtask setup` has installed them | [`parts`] |
//!
//! Nothing here depends on Wiretape's own crates, so a bug in them can't hide itself in the tool that should find it.

pub mod bins;
pub mod cpu;
pub mod framer;
pub mod http;
pub mod load;
pub mod memory;
pub mod parts;
pub mod payload;
pub mod peer;
#[cfg(unix)]
pub mod process;
pub mod relay;
pub mod service;
pub mod stdio;
pub mod traces;
mod tree;
mod watchdog;
