//! What was used of a tape, and what was missed: over all the clients that it was played to.

use super::cursor::{How, Miss};
use super::difference::{Departure, in_words};
use super::fault::FaultKind;
use super::tape::{Kind, Recorded, Tape};
use std::fmt;

/// So many misses are kept; more are counted.
const MAX_MISSES: usize = 1000;

/// How often a recorded call was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTally {
    /// How often its answer was given.
    pub used: u32,
    /// How often it was not the same that was asked: the nearest, or with another input.
    pub inexact: u32,
    /// How often it was the same but for what was redacted.
    pub redacted: u32,
}

/// A request that had no recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissNote {
    /// Why, and what comes nearest.
    pub miss: Miss,
    /// How often it was missed in the same way.
    pub times: u64,
}

/// What was used, and what was missed.
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
    /// Nothing was used yet.
    pub fn new(tape: &Tape) -> Self {
        Tally { calls: vec![CallTally::default(); tape.calls().len()], ..Self::default() }
    }

    /// How often each recorded call was used.
    pub fn calls(&self) -> &[CallTally] {
        &self.calls
    }

    /// What was missed.
    pub fn misses(&self) -> &[MissNote] {
        &self.misses
    }

    /// How many requests had no recorded answer.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// How many requests a real server took instead.
    pub fn passed_on(&self) -> u64 {
        self.passed_on
    }

    /// How many of the server's questions the client answered otherwise than was recorded.
    pub fn other_replies(&self) -> u64 {
        self.other_replies
    }

    /// How many calls a fault was injected into.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// How many damaged schemas were healed.
    pub fn healed(&self) -> u64 {
        self.healed
    }

    /// How many recorded calls were used.
    pub fn used(&self) -> usize {
        self.calls.iter().filter(|call| call.used > 0).count()
    }

    /// The recorded calls that nobody asked for, but for those that nobody need ask for.
    pub fn unused<'t>(&'t self, tape: &'t Tape) -> impl Iterator<Item = &'t Recorded> {
        let calls = tape.calls().iter().zip(&self.calls);
        calls.filter(|(call, tally)| tally.used == 0 && !tape.may_be_left_out(call)).map(|(call, _)| call)
    }

    pub(super) fn use_call(&mut self, call: u32, how: &How) {
        let Some(tally) = self.calls.get_mut(call as usize) else { return };
        tally.used += 1;
        match how {
            How::Same => {}
            How::Redacted => tally.redacted += 1,
            How::OtherInput(_) | How::Nearest(_) => tally.inexact += 1,
        }
    }

    pub(super) fn miss(&mut self, miss: &Miss) {
        self.missed += 1;
        if let Some(note) = self.misses.iter_mut().find(|note| note.miss == *miss) {
            note.times += 1;
        } else if self.misses.len() < MAX_MISSES {
            self.misses.push(MissNote { miss: miss.clone(), times: 1 });
        }
    }

    pub(super) fn pass_on(&mut self) {
        self.passed_on += 1;
    }

    /// The real server could not be asked.
    pub(super) fn miss_after_all(&mut self, miss: &Miss) {
        self.passed_on = self.passed_on.saturating_sub(1);
        self.miss(miss);
    }

    pub(super) fn other_reply(&mut self) {
        self.other_replies += 1;
    }

    pub(super) fn strike(&mut self) {
        self.struck += 1;
    }

    pub(super) fn heal(&mut self, places: usize) {
        self.healed += places as u64;
    }
}

/// Something that whoever started the replay should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A request has no recorded answer.
    Missed(Box<Miss>),
    /// A request was answered as the one that comes nearest.
    Nearest {
        /// What it is for.
        kind: Kind,
        /// The line of the recorded request.
        line: u64,
        /// How it departs from that.
        departures: Vec<Departure>,
    },
    /// The client brought something else than was recorded.
    OtherInput {
        /// What the call is for.
        kind: Kind,
        /// How it departs.
        departures: Vec<Departure>,
    },
    /// The client answered a question otherwise than was recorded.
    OtherReply {
        /// What the call is for during which it was asked.
        kind: Kind,
        /// How it departs.
        departures: Vec<Departure>,
    },
    /// The client did not answer a question.
    NoReply {
        /// What the call is for during which it was asked.
        kind: Kind,
    },
    /// Schemas were damaged, and are whole again.
    Healed {
        /// What the call is for.
        kind: Kind,
        /// How many.
        places: usize,
    },
    /// The trace has no handshake; one was made up.
    MadeUp {
        /// The method.
        method: &'static str,
    },
    /// A fault was injected into a call. One that is only delayed succeeds all the same.
    Struck {
        /// What the call is for.
        kind: Kind,
        /// What goes wrong.
        fault: FaultKind,
    },
    /// The trace can't be read any more.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The trace of what a real server says can't be written.
    NotRecorded {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Missed(miss) => write!(f, "missed: {miss}"),
            Notice::Nearest { kind, line, departures } => {
                write!(f, "answered as the nearest, line {line}: {kind}: {}", in_words(departures))
            }
            Notice::OtherInput { kind, departures } => {
                write!(
                    f,
                    "the client brought something else than was recorded: {kind}: {}",
                    in_words(departures)
                )
            }
            Notice::OtherReply { kind, departures } => {
                let departures = in_words(departures);
                write!(f, "the client answered otherwise than was recorded, during {kind}: {departures}")
            }
            Notice::NoReply { kind } => {
                write!(f, "the client did not answer what it was asked during {kind}; going on without")
            }
            Notice::Healed { kind, places } => write!(
                f,
                "{places} schema(s) in {kind} were damaged by another program's redaction; anything is allowed there now"
            ),
            Notice::MadeUp { method } => write!(f, "the trace has no `{method}`; the answer is made up"),
            Notice::Struck { kind, fault } => write!(f, "injected fault ({}): {kind}", fault.name()),
            Notice::Unreadable { reason } => write!(f, "can't read the trace any more: {reason}"),
            Notice::NotRecorded { reason } => {
                write!(f, "what the real server says is not recorded: {reason}")
            }
        }
    }
}
