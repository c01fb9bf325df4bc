//! A tape that is loaded and can be played to any number of clients.

use super::file::{IndexedTape, TapeFile};
use parking_lot::{Mutex, MutexGuard};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use wiretape_analyze::replay::{
    FaultKind, Notice, Payloads as _, Player, Setting, StepKind, Tally, Tape, WhenMissed,
};
use wiretape_library::TraceFileError;
use wiretape_trace::format;

/// The callback for notices to the user who started the replay. It may be called from any thread.
pub type NoticeCallback = Arc<dyn NoticeFn>;

/// A notice callback. The trait exists so that structs that hold a [`NoticeCallback`] can derive `Debug`.
pub trait NoticeFn: Fn(&Notice) + Send + Sync {}
impl<F: Fn(&Notice) + Send + Sync> NoticeFn for F {}

impl std::fmt::Debug for dyn NoticeFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NoticeFn")
    }
}

/// A tape with its file, its settings and the tally of what was used.
#[derive(Debug)]
pub struct LoadedTape {
    tape: Arc<Tape>,
    file: Arc<TapeFile>,
    setting: Arc<Setting>,
    tally: Arc<Mutex<Tally>>,
    notices: Vec<(PathBuf, format::Notice)>,
    started: Instant,
}

impl LoadedTape {
    /// Loads recordings as one tape; each is a list of its parts.
    pub fn load(recordings: &[Vec<PathBuf>], setting: Setting) -> Result<Self, TraceFileError> {
        Ok(Self::new(TapeFile::index(recordings, &setting.matching)?, setting))
    }

    pub(super) fn new(indexed: IndexedTape, setting: Setting) -> Self {
        let tally = Tally::shared(&indexed.tape);
        LoadedTape {
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

    /// The calls used so far, and the misses.
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock()
    }

    /// The shared tally, for a real server that answers misses.
    pub(super) fn shared_tally(&self) -> Arc<Mutex<Tally>> {
        Arc::clone(&self.tally)
    }

    /// The notices about the trace, with the path of the part.
    pub fn notices(&self) -> &[(PathBuf, format::Notice)] {
        &self.notices
    }

    /// Calls `each` with the first `most` recorded answers to a method.
    pub(super) fn answers_to(&self, method: &str, most: usize, mut each: impl FnMut(&[u8])) {
        let mut answer = Vec::new();
        let answered = self.tape.of_method(method).filter(|(_, call)| call.is_answered());
        for (_, call) in answered.take(most) {
            let steps = self.tape.steps(call).iter();
            for step in steps.filter(|step| step.kind == StepKind::Answer) {
                // An answer that can't be read is skipped.
                if self.file.read(step.span, &mut answer).is_ok() {
                    each(&answer);
                }
            }
        }
    }

    /// A player for one more client.
    pub(super) fn player(&self) -> Player<Arc<TapeFile>> {
        Player::new(
            Arc::clone(&self.tape),
            Arc::clone(&self.file),
            Arc::clone(&self.setting),
            Arc::clone(&self.tally),
        )
    }

    /// Microseconds since the tape was loaded.
    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Whether something can become due without input. If not, one thread can read, answer and write without a clock.
    pub(super) fn needs_a_clock(&self) -> bool {
        let delays = |kind| matches!(kind, FaultKind::Delay(_));
        let asks = || {
            let mut steps = self.tape.calls().iter().flat_map(|call| self.tape.steps(call));
            steps.any(|step| step.kind == StepKind::Question)
        };
        // Scanning the steps is the most expensive condition, so it is the last.
        !self.setting.speed.is_at_once()
            || self.setting.faults.list.iter().any(|fault| delays(fault.kind))
            || self.setting.when_missed == WhenMissed::PassOn
            || (self.setting.patience_us.is_some() && asks())
    }
}
