//! The binary from the outside: a module for each command.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod agreement;
mod ask;
mod baseline;
mod ca;
mod calls;
mod config;
mod diff;
mod environment;
mod export;
mod fixtures;
mod general;
mod import;
mod limits;
mod lint;
mod ls;
mod prune;
mod redact;
mod replay;
mod show;
mod stats;
mod verify;
mod view;
mod words;
