//! Rows made from the lines of a trace: the same that a proxy's signals become, and one for each request of a client over pipes.
//!
//! | module | holds |
//! |---|---|
//! | `loader` | [`Loader`]: whole recordings, part by part |
//! | `live` | [`LiveTrace`]: a trace while it is written |
//! | `feed` | [`TraceFeed`]: which lines go which way |
//! | `exchanges` | exchanges of HTTP, put together again and observed as the proxy's are |
//! | `calls` | requests with their answers, where there are no exchanges |

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
