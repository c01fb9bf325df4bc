//! `wiretape verify`: replays the client's side of a trace against a server.
//!
//! [`wiretape_analyze::verify`] decides what is sent and how answers compare, without any I/O. Here are the file that
//! messages are read from, the clock, and the transports.
//!
//! | module | holds |
//! |---|---|
//! | `script` | the trace's file, and the script built from it |
//! | `server` | the server: a child process, or one over HTTP |
//! | `run` | the loop between them |

mod run;
mod script;
mod server;

pub use run::{Progress, verify};
pub use script::{RecordedClient, read};
pub use server::{Target, TargetError};
