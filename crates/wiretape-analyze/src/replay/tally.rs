//! Counts used calls and misses of a tape, over all clients.

use super::cursor::{MatchKind, Miss};
use super::difference::{Departure, in_words};
use super::fault::FaultKind;
use super::tape::{CallName, Recorded, Tape};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Misses that are kept; the rest are only counted.
const MAX_MISSES: usize = 1000;

/// How often a recorded call was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTally {
    /// How often its answer was sent.
    pub used: u32,
    /// How often it matched only as the nearest call or with other input.
    pub inexact: u32,
    /// How often it matched except for redacted values.
    pub redacted: u32,
}

/// A request without a recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissNote {
    /// The reason and the nearest call.
    pub miss: Miss,
    /// How often the same miss occurred.
    pub times: u64,
}

/// The counts of a replay.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    calls: Vec<CallTally>,
    misses: Vec<MissNote>,
    missed: u64,
    passed_on: u64,
    other_replies: u64,
    struck: u64,
    healed: u64,
}

impl Tally {
    /// A tally before the first request.
    pub fn new(tape: &Tape) -> Self {
        Tally { calls: vec![CallTally::default(); tape.calls().len()], ..Self::default() }
    }

    /// A tally before the first request, which all clients of a tape count in.
    pub fn shared(tape: &Tape) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self::new(tape)))
    }

    /// How often each recorded call was used.
    pub fn calls(&self) -> &[CallTally] {
        &self.calls
    }

    /// The misses, in the order in which they occurred.
    pub fn misses(&self) -> &[MissNote] {
        &self.misses
    }

    /// The number of requests without a recorded answer.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The number of requests forwarded to a real server.
    pub fn passed_on(&self) -> u64 {
        self.passed_on
    }

    /// The number of server requests that the client answered differently.
    pub fn other_replies(&self) -> u64 {
        self.other_replies
    }

    /// The number of injected faults.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// The number of repaired schemas.
    pub fn healed(&self) -> u64 {
        self.healed
    }

    /// The number of recorded calls that were used.
    pub fn used(&self) -> usize {
        self.calls.iter().filter(|call| call.used > 0).count()
    }

    /// The recorded calls that were not used, except those that a client may leave out.
    pub fn unused<'t>(&'t self, tape: &'t Tape) -> impl Iterator<Item = &'t Recorded> {
        let calls = tape.calls().iter().zip(&self.calls);
        calls.filter(|(call, tally)| tally.used == 0 && !tape.may_be_left_out(call)).map(|(call, _)| call)
    }

    pub(super) fn use_call(&mut self, call: u32, how: &MatchKind) {
        let Some(tally) = self.calls.get_mut(call as usize) else { return };
        tally.used += 1;
        match how {
            MatchKind::Same => {}
            MatchKind::Redacted => tally.redacted += 1,
            MatchKind::OtherInput(_) | MatchKind::Nearest(_) => tally.inexact += 1,
        }
    }

    pub(super) fn miss(&mut self, miss: &Miss) {
        self.missed += 1;
        // Linear, but over at most MAX_MISSES, and a miss has already read the file to name the nearest call.
        if let Some(note) = self.misses.iter_mut().find(|note| note.miss == *miss) {
            note.times += 1;
        } else if self.misses.len() < MAX_MISSES {
            self.misses.push(MissNote { miss: miss.clone(), times: 1 });
        }
    }

    pub(super) fn pass_on(&mut self) {
        self.passed_on += 1;
    }

    /// Counts a forwarded request as a miss after all.
    pub(super) fn miss_after_all(&mut self, miss: &Miss) {
        self.passed_on = self.passed_on.saturating_sub(1);
        self.miss(miss);
    }

    pub(super) fn other_reply(&mut self) {
        self.other_replies += 1;
    }

    pub(super) fn count_fault(&mut self) {
        self.struck += 1;
    }

    pub(super) fn count_repairs(&mut self, places: usize) {
        self.healed += places as u64;
    }
}

/// Something that the user should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A request has no recorded answer.
    Missed(Box<Miss>),
    /// A request was answered with the nearest call.
    Nearest {
        /// Its method and name.
        kind: CallName,
        /// The line of the recorded request.
        line: u64,
        /// The first differences from the recorded request.
        departures: Vec<Departure>,
    },
    /// The client's input differs from the recording.
    OtherInput {
        /// The method and name of the call.
        kind: CallName,
        /// The first differences from the recording.
        departures: Vec<Departure>,
    },
    /// The client answered a server request differently.
    OtherReply {
        /// The method and name of the call during which it was sent.
        kind: CallName,
        /// The first differences from the recording.
        departures: Vec<Departure>,
    },
    /// The client did not answer a server request in time.
    NoReply {
        /// The method and name of the call during which it was sent.
        kind: CallName,
    },
    /// Damaged schemas were repaired.
    Healed {
        /// The method and name of the call.
        kind: CallName,
        /// The number of repaired schemas.
        places: usize,
    },
    /// The trace has no handshake; a default response was sent.
    MadeUp {
        /// The method that the trace does not have.
        method: &'static str,
    },
    /// A fault was injected into a call. A delayed call still succeeds.
    Struck {
        /// The method and name of the call.
        kind: CallName,
        /// The fault that was injected.
        fault: FaultKind,
    },
    /// The trace can't be read.
    Unreadable {
        /// The cause, as the system words it.
        reason: String,
    },
    /// The messages of a real server can't be recorded.
    NotRecorded {
        /// The cause, as the system words it.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Missed(miss) => write!(f, "missed: {miss}"),
            Notice::Nearest { kind, line, departures } => {
                write!(f, "answered with the nearest match, line {line}: {kind}: {}", in_words(departures))
            }
            Notice::OtherInput { kind, departures } => {
                write!(f, "the client's input differs from the recording: {kind}: {}", in_words(departures))
            }
            Notice::OtherReply { kind, departures } => {
                let departures = in_words(departures);
                write!(f, "the client's response during {kind} differs from the recording: {departures}")
            }
            Notice::NoReply { kind } => {
                write!(f, "the client did not answer a server request during {kind}; continuing without")
            }
            Notice::Healed { kind, places } => write!(
                f,
                "{places} schema(s) in {kind} were damaged by another program's redaction; they now accept anything"
            ),
            Notice::MadeUp { method } => write!(f, "the trace has no `{method}`; using a default response"),
            Notice::Struck { kind, fault } => write!(f, "injected fault ({}): {kind}", fault.name()),
            Notice::Unreadable { reason } => write!(f, "can't read the trace: {reason}"),
            Notice::NotRecorded { reason } => {
                write!(f, "can't record the real server's messages: {reason}")
            }
        }
    }
}
