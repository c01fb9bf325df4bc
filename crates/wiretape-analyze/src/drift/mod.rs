//! Drift: how the definitions of a server changed since a baseline.
//!
//! A [`Baseline`] pins definitions in a file; [`compare`] finds what was added, removed, renamed or changed since, down to
//! single words of a description, because a model follows them. Each [`Change`] has its position, its effect on callers and
//! advice.
//!
//! [`crate::definitions`] collects the definitions from a trace.

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
