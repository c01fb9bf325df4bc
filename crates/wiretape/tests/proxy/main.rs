//! `wiretape proxy` from end to end: the real binary, real servers and real clients.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod oauth;
