//! A trace as a test of a server: its client's side is said again, and what the server answers is compared.
//!
//! This module is pure. [`ScriptBuilder`] reads a trace once and makes a [`Script`] of it: the calls, what is to become of each,
//! and what the server offered. [`Driver`] makes the calls: messages in, messages out, time as a value. What came of it is
//! [`Verified`]. Where the bytes come from and how they travel is for the edge, as in [`crate::replay`].
//!
//! | module | holds |
//! |---|---|
//! | `script` | what the client said, and what of it better is not said again |
//! | `driver` | one run against a server |
//! | `carry` | what a server makes up and its client repeats |
//! | `questions` | what the server asks its client |
//! | `offers` | what the server offers, then and now |
//! | `verdict` | how answers are compared, and what came of it |

mod carry;
mod driver;
mod offers;
mod questions;
mod script;
#[cfg(test)]
mod tests;
mod verdict;

pub use driver::{Action, Driver, Keeps, Notice, Setting};
pub use offers::without_secrets;
pub use script::{Plan, Script, ScriptBuilder, Skip, Writes};
pub use verdict::{Change, Checked, Missing, Offers, Verdict, Verified};
