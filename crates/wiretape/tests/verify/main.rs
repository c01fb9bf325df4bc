//! A trace as a test of a server, from end to end: real servers, against what they said before.
//!
//! `cargo xtask setup` installs the parts and `cargo xtask test` says where; a bare `cargo test` skips these, and
//! says so.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod everything;
mod notes;
#[path = "../replay/servers.rs"]
mod servers;
#[path = "../replay/session.rs"]
#[allow(dead_code, reason = "the tests of replay use all of it")]
mod session;
