//! Shows recorded MCP traffic in a browser: a local web server with a JSON API, the page that uses it, and reports in one
//! file to share.
//!
//! - [`serve`]: the server
//! - [`api`]: the types of its responses
//! - [`report`]: a trace and the page in one file
//!
//! `wiretape-analyze` computes everything, as for the terminal; the page only displays. This
//! crate keeps an index of each open trace, some hundred bytes a call, and reads the rest from the file on
//! demand.

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
