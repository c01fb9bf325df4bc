//! Real SDK clients and a real server, directly and with `wiretape proxy` between them: the client sees the same, and
//! the traces hold every message.
//!
//! `cargo xtask setup` installs the parts and `cargo xtask test` says where; a bare `cargo test` skips these, and says so.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

#[path = "../shared/lint.rs"]
mod lint;
mod pair;
mod scenarios;
mod store;
