//! Compares the calls of two traces.
//!
//! Each trace is read twice. First, a [`CallIndex`] stores the fingerprints and positions of each request and answer: about a
//! hundred bytes per call, whatever the size of its messages. [`align`] aligns the calls of both traces by them. Then
//! [`Payloads`] reads the messages of differing calls in the order of the rows, and [`Comparer`] compares them. So memory
//! never holds more of a trace than the messages of calls that were in flight together.
//!
//! Ignored values are known by their path ([`crate::volatile`]) or their form (`looks`). Definitions are compared by
//! [`crate::drift`]. Notifications are not compared: their number and order often depend on timing.

mod compare;
mod index;
mod payloads;
mod rows;

pub use compare::{Answer, CallDifferences, CallPayloads, Comparer, GeneratedValues};
pub(crate) use compare::{SideAlike, compare_beyond};
pub use index::{CallIndex, CallIndexer, Ignored, IndexedCall};
pub use payloads::{PayloadPlace, Payloads};
pub use rows::{CallRow, Pace, PaceChange, Status, Summary, align};

#[cfg(test)]
mod tests;
