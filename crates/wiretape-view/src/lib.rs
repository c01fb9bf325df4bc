//! Shows recorded MCP traffic in a browser: a local web server with a JSON API, the page that asks it, and reports in one
//! file to share.
//!
//! - [`serve`]: the server
//! - [`api`]: what it tells, as types
//! - [`report`]: a trace and the page in one file
//!
//! What is computed is computed by `wiretape-analyze`, as for the terminal; what is shown is shown by the page. This
//! crate keeps an index of each trace that is open, some hundred bytes a call, and reads the rest from the file when
//! somebody looks at it.

pub mod api;
mod index;
mod jobs;
mod library;
mod page;
mod query;
pub mod report;
mod server;
mod summary;
mod trace;

pub use server::{PageAddress, ViewError, ViewOptions, serve};
