//! `wiretape proxy` from end to end: the real binary between sockets whose every byte the tests write and read
//! themselves.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod bodies;
mod bombs;
mod crowds;
mod csp;
mod dashboard;
mod disconnects;
mod draining;
mod events;
mod floods;
mod forward;
mod heads;
mod hosts;
mod http2;
mod interception;
mod limits;
mod loading;
mod metrics;
mod oauth;
mod proxy;
mod recordings;
mod silence;
mod sinks;
mod smuggling;
mod streams;
mod trace;
mod wire;
