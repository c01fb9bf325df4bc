//! `wiretape replay`: plays a trace as a server.
//!
//! [`wiretape_analyze::replay`] decides what is sent to a client and when, without any I/O. Here are the file that messages are
//! read from, the clock, and the transports.
//!
//! | module | holds |
//! |---|---|
//! | `file` | the trace's file: its index, and its messages on demand |
//! | `deck` | a loaded tape |
//! | `overture` | answering `initialize` while a long trace is still being indexed |
//! | `stdio` | one client on standard input and output |
//! | `http` | any number of clients over HTTP |
//! | `real` | the real server that answers requests that were not recorded |
//! | `recording` | the trace of the real server's answers |

mod deck;
mod file;
mod http;
mod overture;
mod real;
mod recording;
mod stdio;

pub use deck::{LoadedTape, NoticeCallback, NoticeFn};
pub(crate) use file::Reader;
pub use file::TapeFile;
pub use http::{HttpOptions, ListenError, listen};
pub use overture::{PreviewOutcome, TapePreview};
pub use real::RealServers;
pub use stdio::play;
