//! Rows from the lines of a trace: HTTP exchanges are reassembled and become the same rows as through the
//! proxy; over stdio, each of the client's requests becomes a row.
//!
//! | module | holds |
//! |---|---|
//! | `loader` | [`Loader`]: whole recordings, part by part |
//! | `live` | [`LiveTrace`]: a trace while it is written |
//! | `feed` | [`TraceFeed`]: routes lines to one of the two below |
//! | `exchanges` | HTTP exchanges, reassembled and observed like the proxy's |
//! | `calls` | requests with their answers, where there are no HTTP exchanges |

mod calls;
mod exchange;
mod exchanges;
mod feed;
mod live;
mod loader;
mod timeline;

pub use feed::TraceFeed;
pub use live::LiveTrace;
pub use loader::{CallCounter, LoadError, Loaded, Loader, load, load_from};
