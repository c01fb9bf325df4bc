//! Events: what a proxy reports to other programs, to the terminal and to the store.
//!
//! ```text
//! proxy ── Transaction ──▶ Bus ── Observer ──▶ Signal ──▶ each Sink, on a thread of its own
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`transaction`] | a completed exchange, as the proxy hands it over |
//! | [`event`] | the four events, versioned: [`Event`] |
//! | [`line`](mod@line) | the six lines of `--events`: [`Line`] |
//! | [`observe`] | turns exchanges into signals: sessions, changed lists, the parts of a message that are
//! logged |
//! | [`bus`] | the threads and queues between them |
//! | [`sink`] | the [`Sink`] trait, and the sinks that ship with Wiretape |
//! | [`store`] | the database behind `logs`, `slow`, `stats` and the others: its sink and its queries |
//!
//! The proxy redacts before it hands anything over, so no code in this crate sees a secret. The crate has
//! threads and files but no async runtime: a sink may block on its own thread, and the proxy's workers never
//! wait for one (`docs/design/0007-events-and-the-store.md`).

pub mod bus;
pub mod event;
pub mod line;
pub mod observe;
mod queue;
pub mod raw;
pub mod schema;
mod server_name;
pub mod sink;
pub mod store;
pub mod transaction;

pub use bus::{Bus, BusOptions};
pub use event::{Event, Status};
pub use line::Line;
pub use server_name::{FORWARD, server_name};
pub use sink::{Signal, Sink, SinkError};
pub use transaction::{Streamed, Timings, Transaction, TransactionSink, Violation};
pub use wiretape_analyze::call::Outcome;
pub use wiretape_trace::format::Ended;
