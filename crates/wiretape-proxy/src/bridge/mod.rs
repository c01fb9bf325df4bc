//! `wiretape record --url`: connects a stdio client to a server over HTTP, and records the session.
//!
//! Every line of the client is POSTed as it is. The server's messages, in response bodies and event streams, are written to
//! standard output, one per line. Both are in the trace before they are forwarded. Requests run concurrently; other messages wait
//! for the server to accept them, so that they arrive in the client's order.
//!
//! | module | holds |
//! |---|---|
//! | `options` | the server's URL, secret headers and other options |
//! | `run` | start, the loop over the client's lines, shutdown |
//! | `outgoing` | a parsed line of the client |
//! | `session` | the agreed session, and the headers that follow from it |
//! | `parameters` | tool arguments that are repeated in headers |
//! | `delivery` | one message: the request, the response, resuming its stream |
//! | `renewal` | restarting a session that the server has lost |
//! | `listening` | streams on which the server may send messages at any time |
//! | `client` | HTTP requests over keep-alive connections |
//! | `recording` | the trace |
//! | `failure` | errors for requests without a response |
//! | `streams` | our standard streams |
//! | `remote` | the bridge without standard streams, for `replay` and `verify` |

mod client;
mod delivery;
mod failure;
mod listening;
mod options;
mod outgoing;
mod parameters;
mod recording;
mod remote;
mod renewal;
mod run;
mod session;
mod streams;

pub(crate) use parameters::{ToolParameters, header_text};

pub use options::{BridgeOptions, HeaderError, SecretHeader, ServerUrl};
pub(crate) use remote::{Remote, RemoteEvent};
pub use run::bridge;
