//! `wiretape replay`: a trace, played as a server.
//!
//! What is said to a client, and in which order, is decided in [`wiretape_analyze::replay`]. Here are the file that the
//! messages are read from, the clock, and the ways by which they travel.
//!
//! | module | holds |
//! |---|---|
//! | `file` | a trace's file, its index, and its messages on demand |
//! | `deck` | a tape that is ready to be played |
//! | `overture` | the beginning of a long trace, ahead of the rest |
//! | `stdio` | one client, on standard input and output |
//! | `http` | any number of clients, over HTTP |
//! | `real` | the real server that is asked what was not recorded |
//! | `recording` | the trace of what it said |

mod deck;
mod file;
mod http;
mod overture;
mod real;
mod recording;
mod stdio;

pub use deck::{Deck, Tell, TellFn};
pub(crate) use file::Reader;
pub use file::TapeFile;
pub use http::{HttpOptions, ListenError, listen};
pub use overture::{Opening, Overture};
pub use real::RealServers;
pub use stdio::play;
