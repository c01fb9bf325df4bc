//! `wiretape replay`: plays a trace as a server.
//!
//! [`wiretape_analyze::replay`] decides what is sent to a client and when, without any I/O. Here are the file that messages are
//! read from, the clock, and the transports.
//!
//! | module | holds |
//! |---|---|
//! | `file` | the trace's file: its index, and its messages on demand |
//! | `loaded_tape` | a tape with its file, settings and tally |
//! | `preview` | answering `initialize` while a long trace is still being indexed |
//! | `stdio` | one client on standard input and output |
//! | `http` | any number of clients over HTTP |
//! | `real` | the real server that answers requests that were not recorded |
//! | `recording` | the trace of the real server's answers |

mod file;
mod http;
mod loaded_tape;
mod preview;
mod real;
mod recording;
mod stdio;

pub(crate) use file::Reader;
pub use file::TapeFile;
pub use http::{HttpOptions, ListenError, listen};
pub use loaded_tape::{LoadedTape, NoticeCallback, NoticeFn};
pub use preview::{PreviewOutcome, TapePreview};
pub use real::RealServers;
pub use stdio::play;
