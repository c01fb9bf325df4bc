//! A trace as a server: which recorded call a request means, and what is said to whom, in which order.
//!
//! This module is pure. [`TapeBuilder`] reads a trace once and keeps an index of it, a [`Tape`]: where the messages of each
//! call stand in the file, and by what a request is known. [`Cursor`] finds the recorded call that a request means.
//! [`Player`] plays a tape to one client: messages in, messages out, time as a value. Where the bytes come from ([`Payloads`])
//! and how they travel is for the edge.
//!
//! | module | holds |
//! |---|---|
//! | `matching` | what counts when two requests are compared |
//! | `tape` | the index of a trace |
//! | `cursor` | the recorded call that a request means, or the nearest to it |
//! | `difference` | how a request departs from a recorded one, in words |
//! | `edit` | recorded messages with another id or token |
//! | `glance` | requests that are recognised by their words |
//! | `heal` | schemas that redaction has damaged |
//! | `handshake` | `initialize`, `server/discover` and `ping` |
//! | `fault` | failures on purpose |
//! | `player` | one client's session |
//! | `tally` | what was used, and what was missed |

mod cursor;
mod difference;
mod edit;
mod fault;
mod glance;
mod handshake;
mod heal;
mod matching;
mod player;
mod tally;
mod tape;
#[cfg(test)]
mod tests;

pub use cursor::{Cursor, Found, How, Miss, MissReason, Nearest};
pub use difference::{Departure, Secrets};
pub(crate) use edit::with_token;
pub use edit::{id_of, replaced, with_id};
pub use fault::{Fault, FaultError, FaultKind, Faults};
pub(crate) use matching::may_have_been;
pub use matching::{Matching, Mode, Order, Repeats};
pub use player::{Action, Player, Setting, Speed, SpeedError, WhenMissed, missed_after_all};
pub use tally::{CallTally, MissNote, Notice, Tally};
pub use tape::{Kind, Payloads, Recorded, Span, Step, StepKind, Tape, TapeBuilder};
