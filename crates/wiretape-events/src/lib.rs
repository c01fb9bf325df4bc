//! What a proxy tells the outside.
//!
//! ```text
//! proxy ── Transaction ──▶ Bus ── Observer ──▶ Signal ──▶ each Sink, on a thread of its own
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`transaction`] | what the proxy hands over when an exchange has ended |
//! | [`event`] | the four events, versioned: [`Event`] |
//! | [`line`](mod@line) | the six lines of `--events`: [`Line`] |
//! | [`observe`] | from exchanges to signals: sessions, lists and how they change, what is logged of a message |
//! | [`bus`] | the threads and queues between them |
//! | [`sink`] | [`Sink`], and those that come with us |
//! | [`store`] | the database behind `logs`, `slow`, `stats` and the others: its sink and its queries |
//!
//! Everything that arrives here is redacted already.

pub mod bus;
pub mod event;
pub mod line;
pub mod observe;
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
