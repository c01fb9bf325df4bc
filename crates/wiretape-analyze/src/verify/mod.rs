//! Verify: a trace as a test of a server. The client's recorded requests are sent again, and the answers are compared.
//!
//! This module is pure. [`ScriptBuilder`] reads a trace once and builds a [`Script`]: the calls, a plan for each, and the
//! server's definitions. [`Driver`] sends the requests: messages in, messages out, time as a value. The result is
//! [`Verified`]. Reading files and moving bytes is up to the caller, as in [`crate::replay`].
//!
//! | module | holds |
//! |---|---|
//! | `script` | the recorded client messages, and which of them are skipped |
//! | `driver` | one run against a server |
//! | `carry` | generated values that requests repeat: cursors, ids, tokens |
//! | `questions` | server requests and their recorded answers |
//! | `offers` | the server's definitions, recorded and live |
//! | `verdict` | compares answers; the results |

mod carry;
mod driver;
mod offers;
mod questions;
mod script;
#[cfg(test)]
mod tests;
mod verdict;

pub use driver::{Action, Driver, Notice, Setting, TraceOutput};
pub use offers::without_secrets;
pub use script::{Plan, Script, ScriptBuilder, Skip, Writes};
pub use verdict::{Change, Checked, Missing, Offers, Verdict, Verified};
