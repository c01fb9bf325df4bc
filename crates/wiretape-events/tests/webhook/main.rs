//! The webhook, against a real receiver that fails in every way there is.

#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod delivery;
mod failures;
mod processes;
mod receiver;
mod secrets;
mod spool;
mod support;
mod tls;
