//! The binary from the outside: a module for each command.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod ask;
mod ca;
mod config;
mod environment;
mod export;
mod fixtures;
mod general;
mod import;
mod ls;
mod prune;
mod show;
mod stats;
