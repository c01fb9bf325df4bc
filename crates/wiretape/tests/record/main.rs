//! `wiretape record` from end to end: the real binary, real processes, and what they leave behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

#[path = "../shared/agreement.rs"]
mod agreement;
mod bridge;
mod bytes;
mod compare;
mod disks;
mod exits;
mod floods;
mod integrity;
#[path = "../shared/lint.rs"]
mod lint;
mod live;
mod options;
mod real_parts;
mod session;
mod signals;
mod store;
mod trace;
mod web;
