//! The store: the database behind `logs`, `slow`, `stats`, `sessions`, `clients` and `schema`.
//!
//! It has one row per call and no payloads: those are in the traces. It is built from traffic or from traces,
//! and is never the source of truth.
//!
//! ```text
//! signals ─▶ StoreSink ─┐
//!                       ├─▶ Row ─▶ Batcher ─▶ Writer ─▶ store.db ─▶ Store ─▶ calls · stats · sessions · …
//! trace   ─▶ TraceFeed ─┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | the tables, and the migrations of older stores |
//! | [`row`] | what can be written |
//! | [`writer`] | writes many rows in one transaction |
//! | [`batcher`] | collects rows, and keeps them while the store can't be written |
//! | [`sink`] | [`StoreSink`]: rows from signals |
//! | [`load`](mod@load) | rows from the lines of a trace |
//! | [`live_feed`] | [`LiveFeed`]: rows from a recording while it runs, on a thread of its own |
//! | [`retention`] | deletes what is too old or too much |
//! | [`query`] | [`Store`]: reads |
//!
//! The file is an SQLite database in WAL mode: any number of processes read while others write, one at a
//! time.

pub mod batcher;
pub mod error;
mod file;
pub mod live_feed;
pub mod load;

pub mod query;
pub mod retention;
pub mod row;
pub mod schema;
pub mod sink;
pub mod writer;

pub use error::StoreError;

pub use live_feed::{FeedResult, LiveFeed};
pub use load::{CallCounter, LiveTrace, LoadError, Loaded, Loader, TraceFeed, load, load_from};
pub use query::{Filter, Store};
pub use retention::{PruneResult, Retention, VacuumResult};
pub use sink::StoreSink;
pub use writer::Writer;
