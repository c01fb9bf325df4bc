//! The edge that records.
//!
//! Here, and in no crate below, are processes, signals, clocks, files and sockets. What was seen leaves as a trace;
//! see [`wiretape_trace::format`].
//!
//! - [`record`]: a stdio server, wrapped
//! - [`bridge`]: an HTTP server, for a client that only speaks stdio
//! - [`http`]: HTTP servers, behind a proxy
//! - [`journal`]: how a trace reaches the disk
//! - [`live`]: a trace that grows, shown to viewers
//! - [`new_trace`]: a trace of what a server says now
//! - [`replay`]: a trace, played as a server
//! - [`verify`]: a trace's client, for a server to be tested with
//! - [`platform`]: what differs between operating systems

pub mod bridge;
mod child;
pub mod http;
pub mod journal;
pub mod live;
pub mod new_trace;
pub mod platform;
pub mod record;
pub mod replay;
pub mod verify;
pub mod warning;
