//! What a payload says, in a few words that fit on a line and steer nothing.
//!
//! - [`describe()`]: a payload by what it asks or gives
//! - [`describe_exchange()`], [`event_name()`]: HTTP by what came of it
//! - [`describe_end()`]: how a recording ended
//! - [`json`]: looking into JSON without changing a digit of it
//! - [`printable()`]: text that others wrote, made visible
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
