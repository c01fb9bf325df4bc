//! The capturing side of Wiretape: everything that talks to processes and sockets and writes traces.
//!
//! Processes, signals, clocks, files and sockets are used here and in no crate below, so that those stay pure and can be
//! tested without them. What was captured leaves as a trace; see [`wiretape_trace::format`].
//!
//! - [`record`]: wraps a stdio server and records it
//! - [`bridge`]: connects a stdio client to an HTTP server and records the session
//! - [`http`]: the recording HTTP proxy
//! - [`journal`]: writes a trace to disk: rotation, full disks, deleted files
//! - [`live`]: streams a growing trace to viewers
//! - [`new_trace`]: writes a trace of a session that replay or verify started
//! - [`replay`]: plays a trace as a server
//! - [`verify`]: plays a trace's client against a real server
//! - [`platform`]: the differences between operating systems

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
