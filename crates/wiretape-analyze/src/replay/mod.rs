//! Replay: a trace as a server.
//!
//! This module is pure. [`TapeBuilder`] reads a trace once and builds a [`Tape`]: an index of the messages of each call in
//! the file, and of the keys of requests. [`Cursor`] finds the recorded call that a request matches. [`Player`] plays a tape to
//! one client: messages in, messages out, time as a value. Reading the file ([`Payloads`]) and moving the bytes is up to the
//! caller.
//!
//! | module | holds |
//! |---|---|
//! | `matching` | how requests are compared |
//! | `tape` | the index of a trace |
//! | `cursor` | the recorded call that a request matches, or the nearest one |
//! | `difference` | the differences between a request and a recorded one, as text |
//! | `edit` | recorded messages with another id or token |
//! | `glance` | the fast path: requests that are byte for byte recorded ones |
//! | `heal` | repairs schemas that redaction damaged |
//! | `handshake` | `initialize`, `server/discover` and `ping` |
//! | `fault` | injected faults |
//! | `player` | one client's session |
//! | `tally` | counts of used calls and misses |

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

pub use cursor::{Cursor, Match, MatchKind, Miss, MissReason, Nearest};
pub use difference::{Departure, Secrets};
pub(crate) use edit::with_token;
pub use edit::{id_of, replaced, with_id};
pub use fault::{Fault, FaultError, FaultKind, Faults};
pub(crate) use matching::may_have_been;
pub use matching::{Matching, Mode, Order, Repeats};
pub use player::{Action, Player, Setting, Speed, SpeedError, WhenMissed, missed_after_all};
pub use tally::{CallTally, MissNote, Notice, Tally};
pub use tape::{CallName, Payloads, Recorded, Span, Step, StepKind, Tape, TapeBuilder};
