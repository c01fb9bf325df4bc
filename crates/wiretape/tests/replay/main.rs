//! A trace as a server, from end to end: real SDK clients can't tell it from the server that was recorded.
//!
//! `cargo xtask setup` installs the parts and `cargo xtask test` says where; a bare `cargo test` skips these, and
//! says so.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod http;
mod odd;
mod raw;
mod real;
mod resume;
mod servers;
mod session;
mod stdio;
mod wire;
