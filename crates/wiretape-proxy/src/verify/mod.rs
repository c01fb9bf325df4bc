//! `wiretape verify`: the client's side of a trace, said again to a server.
//!
//! What is said, and how the answers compare, is decided in [`wiretape_analyze::verify`]. Here are the file that the messages are
//! read from, the clock, and the ways to the server.
//!
//! | module | holds |
//! |---|---|
//! | `script` | a trace's file, and the script that it makes |
//! | `server` | the server: a process, or one that is reached over HTTP |
//! | `run` | the loop between them |

mod run;
mod script;
mod server;

pub use run::{Progress, verify};
pub use script::{RecordedClient, read};
pub use server::{Target, TargetError};
