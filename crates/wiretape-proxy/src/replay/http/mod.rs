//! Replay over HTTP: streamable HTTP with and without sessions, and HTTP+SSE.
//!
//! | path | |
//! |---|---|
//! | `/mcp`, or `/` | streamable HTTP |
//! | `/sse` | the stream of HTTP+SSE, which names the path for messages |
//! | `/messages` | messages of HTTP+SSE |
//!
//! With several tapes these paths are prefixed with the tape's name. One thread serves all clients, since a request costs no more
//! than an index lookup and a file read.

mod admission;
mod body;
mod host_check;
mod listener;
mod route;
mod session;
mod streams;

pub use listener::{HttpOptions, ListenError, listen};
