//! The demo and its sample server, and the documentation that promises what they show.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod demo;
mod docs;
mod environment;
mod sample_server;
