//! The store: the database behind `logs`, `slow`, `stats`, `sessions`, `clients` and `schema`.
//!
//! It holds a row for each call and no payloads: these are in the traces. It is made from traffic, or from traces, and
//! is never the truth.
//!
//! ```text
//! signals ─▶ StoreSink ─┐
//!                       ├─▶ Row ─▶ Batcher ─▶ Writer ─▶ store.db ─▶ Store ─▶ calls · stats · sessions · …
//! trace   ─▶ TraceFeed ─┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | the tables, and how older stores are brought up to date |
//! | [`row`] | what is written |
//! | [`writer`] | one transaction for many rows |
//! | [`batcher`] | gathers rows, and keeps them while the store can't be written |
//! | [`sink`] | [`StoreSink`]: rows made from signals |
//! | [`load`](mod@load) | rows made from the lines of a trace |
//! | [`retention`] | what is too old or too much goes |
//! | [`query`] | [`Store`]: reading |
//!
//! The file is SQLite in WAL mode: any number of programs read while others write, one at a time.

pub mod batcher;
pub mod error;
mod file;
pub mod load;

pub mod query;
pub mod retention;
pub mod row;
pub mod schema;
pub mod sink;
pub mod writer;

pub use error::StoreError;

pub use load::{CallCounter, LiveTrace, LoadError, Loaded, Loader, TraceFeed, load, load_from};
pub use query::{Filter, Store};
pub use retention::{PruneResult, Retention, VacuumResult};
pub use sink::StoreSink;
pub use writer::Writer;
