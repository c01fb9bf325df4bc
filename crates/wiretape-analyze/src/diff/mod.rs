//! How the calls of one trace differ from those of another.
//!
//! Each trace is read twice. The first time a [`CallIndex`] keeps a fingerprint of what each call asks and of what it was
//! answered, and where both stand: some hundred bytes a call, whatever the size of its messages. By these [`align`] puts
//! the calls of both traces side by side. The second time [`Payloads`] reads the messages of those calls that differ, in
//! the order of the rows, and [`Comparer`] says how. At no time is more of a trace in memory than the messages of calls
//! that were open together.
//!
//! What does not count is for [`crate::volatile`] where its place tells, and for `looks` where its value does; what a server offers for [`crate::drift`], and how it is shown for
//! others. Notifications are not compared: they are no calls.

mod compare;
mod index;
mod payloads;
mod rows;

pub use compare::{Answer, CallDifferences, CallPayloads, Comparer, MadeUp};
pub(crate) use compare::{SideAlike, compare_beyond};
pub use index::{CallIndex, CallIndexer, Ignored, IndexedCall};
pub use payloads::{PayloadPlace, Payloads};
pub use rows::{CallRow, Pace, PaceChange, Status, Summary, align};

#[cfg(test)]
mod tests;
