//! Forwarding: client connections, upstream connections, and what passes between them.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod context;
mod csp;
pub(crate) mod forward;
pub(crate) mod handle;
mod login;
pub(crate) mod rewrite;
mod stream_end;
mod timer;
pub(crate) mod upstream;

pub(crate) use upstream::{Connector, HttpPreference, SendFailure, Sender};
