//! The edge that records.
//!
//! Here, and in no crate below, are processes, signals, clocks, files and sockets. What was seen leaves as a trace;
//! see [`wiretape_trace::format`].
//!
//! - [`record`]: a stdio server, wrapped
//! - [`live`]: a trace that grows, shown to viewers
//! - [`http`]: what passes over HTTP
//! - [`platform`]: what differs between operating systems

pub mod http;
pub mod live;
pub mod platform;
pub mod record;
