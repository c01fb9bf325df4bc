//! Content-Security-Policy through the proxy, from end to end: what clients get, what browsers tell, and what is handed
//! on. Each test has a proxy of its own in this process, which ends with it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod browser;
mod pages;
mod peers;
mod widgets;
