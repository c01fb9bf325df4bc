//! A tape that is ready to be played, to any number of clients.

use super::file::{Indexed, TapeFile};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use wiretape_analyze::replay::{
    FaultKind, Notice, Payloads as _, Player, Setting, StepKind, Tally, Tape, WhenMissed,
};
use wiretape_library::TraceFileError;
use wiretape_trace::format;

/// Takes what whoever started the replay should know; from any thread.
pub type Tell = Arc<dyn TellFn>;

/// A function that takes notices.
pub trait TellFn: Fn(&Notice) + Send + Sync {}
impl<F: Fn(&Notice) + Send + Sync> TellFn for F {}

impl std::fmt::Debug for dyn TellFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TellFn")
    }
}

/// A tape that is ready to be played.
#[derive(Debug)]
pub struct Deck {
    tape: Arc<Tape>,
    file: Arc<TapeFile>,
    setting: Arc<Setting>,
    tally: Arc<Mutex<Tally>>,
    notices: Vec<(PathBuf, format::Notice)>,
    started: Instant,
}

impl Deck {
    /// Reads recordings as one, each in its parts.
    pub fn load(recordings: &[Vec<PathBuf>], setting: Setting) -> Result<Self, TraceFileError> {
        Ok(Self::new(TapeFile::index(recordings, &setting.matching)?, setting))
    }

    pub(super) fn new(indexed: Indexed, setting: Setting) -> Self {
        let tally = Arc::new(Mutex::new(Tally::new(&indexed.tape)));
        Deck {
            tape: Arc::new(indexed.tape),
            file: Arc::new(indexed.file),
            setting: Arc::new(setting),
            tally,
            notices: indexed.notices,
            started: Instant::now(),
        }
    }

    /// The index of the trace.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// What was used so far, and what was missed.
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for whoever plays a part in it.
    pub(super) fn shared_tally(&self) -> Arc<Mutex<Tally>> {
        Arc::clone(&self.tally)
    }

    /// What is odd about the trace, and in which of its files.
    pub fn notices(&self) -> &[(PathBuf, format::Notice)] {
        &self.notices
    }

    /// Looks at the recorded answers to a method, the first so many of them.
    pub(super) fn answers_to(&self, method: &str, most: usize, mut each: impl FnMut(&[u8])) {
        let mut answer = Vec::new();
        let answered = self.tape.of_method(method).filter(|(_, call)| call.is_answered());
        for (_, call) in answered.take(most) {
            let steps = self.tape.steps(call).iter();
            for step in steps.filter(|step| step.kind == StepKind::Answer) {
                // What can't be read any more says nothing.
                if self.file.read(step.span, &mut answer).is_ok() {
                    each(&answer);
                }
            }
        }
    }

    /// Plays to one more client.
    pub(super) fn player(&self) -> Player<Arc<TapeFile>> {
        Player::new(
            Arc::clone(&self.tape),
            Arc::clone(&self.file),
            Arc::clone(&self.setting),
            Arc::clone(&self.tally),
        )
    }

    /// Microseconds since the tape was put in.
    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Whether something can be due though nothing comes in.
    pub(super) fn needs_a_clock(&self) -> bool {
        let delays = |kind| matches!(kind, FaultKind::Delay(_));
        let asks = || {
            let mut steps = self.tape.calls().iter().flat_map(|call| self.tape.steps(call));
            steps.any(|step| step.kind == StepKind::Question)
        };
        !self.setting.speed.is_at_once()
            || self.setting.faults.list.iter().any(|fault| delays(fault.kind))
            || self.setting.when_missed == WhenMissed::PassOn
            || (self.setting.patience_us.is_some() && asks())
    }
}
