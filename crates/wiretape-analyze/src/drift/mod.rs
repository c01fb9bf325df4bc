//! How what a server offers departs from what it offered before.
//!
//! A [`Baseline`] pins the definitions that were seen once; [`compare`] says what has become of them since: what was
//! added, removed, renamed or changed, down to the words of a description, for these are what a model reads. Each
//! [`Change`] says whether it breaks who calls, where it stands, and what to do.
//!
//! What there is to compare is for [`crate::definitions`].

mod baseline;
mod change;
mod compare;
mod entry;
mod rename;
mod schema;

pub use baseline::{Baseline, BaselineError, VERSION};
pub use change::{Change, ChangeKind, Effect, Subject};
pub use compare::{Drift, compare};

#[cfg(test)]
mod tests;
