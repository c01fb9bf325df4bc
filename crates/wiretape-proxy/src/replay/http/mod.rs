//! Clients over HTTP: streamable HTTP with sessions and without, and HTTP+SSE.
//!
//! | path | |
//! |---|---|
//! | `/mcp`, or `/` | streamable HTTP |
//! | `/sse` | the stream of HTTP+SSE, which names the path for messages |
//! | `/messages` | messages of HTTP+SSE |
//!
//! Of several tapes each has a name, which stands before these. One thread serves all: what there is to do for a request is to
//! look into an index and to read from a file.

mod admission;
mod body;
mod gate;
mod listener;
mod route;
mod session;
mod streams;

pub use listener::{HttpOptions, ListenError, listen};
