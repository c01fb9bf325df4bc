//! One-line descriptions of payloads, safe to print: peers' text can't control the terminal.
//!
//! - [`describe()`]: describes a payload
//! - [`describe_exchange()`], [`event_name()`]: describe HTTP exchanges and SSE events
//! - [`describe_end()`]: how a recording ended
//! - [`json`]: JSON on the level of tokens, which keeps every digit
//! - [`printable()`]: makes control characters visible
//! - [`bytes()`], [`count()`], [`duration()`]: sizes, numbers and durations

mod describe;
mod ending;
mod exchange;
pub mod json;
mod printable;
mod units;

pub use describe::describe;
pub use ending::{describe_end, signal_name};
pub use exchange::{Description, describe_exchange, event_name};
pub use printable::{ELLIPSIS, printable};
pub use units::{bytes, count, duration};
