//! `wiretape view`: its JSON API as anybody on this machine can ask it, and its page in a real browser.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod api;
mod browser;
mod door;
mod viewer;
