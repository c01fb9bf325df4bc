//! `wiretape record --url`: a stdio client, and a server that is reached over HTTP.
//!
//! Every line that the client writes is POSTed as it is; what the server says, in bodies and in streams, is written to
//! standard output, one line each. Both are in the trace before they are passed on. Requests run side by side; other
//! messages wait for the server to accept them, so that they arrive in the client's order.
//!
//! | module | holds |
//! |---|---|
//! | `options` | the server's URL, the secret headers, and what else there is to choose |
//! | `run` | the beginning, the client's lines, and the end |
//! | `outgoing` | what a line of the client's says |
//! | `session` | what the server and the client have agreed on, and the headers that follow from it |
//! | `parameters` | arguments of tools that are repeated in headers |
//! | `delivery` | one message: the request, the answer, the resumption |
//! | `renewal` | a session that the server has lost, begun anew |
//! | `listening` | streams that the server may say something on at any time |
//! | `client` | requests over kept connections, and bodies |
//! | `recording` | the trace |
//! | `failure` | what the client is told when there is no answer |
//! | `streams` | our standard streams |
//! | `remote` | the same without a client's streams, for whoever has lines to send |

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
pub(crate) use remote::{Heard, Remote};
pub use run::bridge;
