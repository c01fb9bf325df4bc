//! Background jobs that read a whole trace, started on first request: lint, and counting tokens.

use crate::api::types::Progress;
use crate::trace::OpenTrace;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use wiretape_analyze::lint::{Findings, LintOptions, Linter, rules};
use wiretape_analyze::reading::Reading;
use wiretape_analyze::toolbox::{Tool, Toolbox};
use wiretape_trace::format::{Line, TraceReader};

/// Findings against the specification.
pub(crate) type LintJob = Job<Findings>;
/// Tools, with the tokens of their results.
pub(crate) type TokensJob = Job<BTreeMap<String, Tool>>;

/// A result that is computed in the background, again when the trace has grown.
#[derive(Debug)]
pub(crate) struct Job<T> {
    state: Mutex<JobState<T>>,
    done: AtomicU64,
}

#[derive(Debug)]
struct JobState<T> {
    is_requested: bool,
    is_running: bool,
    result: Option<Arc<T>>,
    /// The number of bytes of the file that the result covers.
    of_bytes: u64,
}

impl<T> Default for Job<T> {
    fn default() -> Self {
        let state = JobState { is_requested: false, is_running: false, result: None, of_bytes: 0 };
        Job { state: Mutex::new(state), done: AtomicU64::new(0) }
    }
}

impl<T> Job<T> {
    /// The job's progress; `None` if it was never requested.
    pub(crate) fn progress(&self, trace: &OpenTrace) -> Option<Progress> {
        let state = self.state.lock();
        state.is_requested.then(|| self.progress_of(&state, trace))
    }

    fn progress_of(&self, state: &JobState<T>, trace: &OpenTrace) -> Progress {
        let total = trace.progress().total;
        if state.is_running {
            return Progress { done: self.done.load(Ordering::Acquire), total, is_complete: false };
        }
        Progress {
            done: state.of_bytes,
            total,
            is_complete: state.result.is_some() && !state.is_stale(trace),
        }
    }
}

impl<T> JobState<T> {
    /// Whether the trace has grown since the result was computed.
    fn is_stale(&self, trace: &OpenTrace) -> bool {
        self.of_bytes < trace.progress().done
    }
}

impl<T: Send + Sync + 'static> Job<T> {
    /// The latest result and the progress of the next; starts the job if needed.
    fn result_or_start(
        &self,
        trace: &Arc<OpenTrace>,
        job: fn(&OpenTrace) -> &Job<T>,
        work: fn(&OpenTrace, &AtomicU64) -> io::Result<T>,
    ) -> (Progress, Option<Arc<T>>) {
        let mut state = self.state.lock();
        state.is_requested = true;
        // Under the lock, so that two requests at the same time start only one job.
        if !state.is_running && (state.result.is_none() || state.is_stale(trace)) {
            state.is_running = true;
            self.done.store(0, Ordering::Release);
            let trace = Arc::clone(trace);
            thread::spawn(move || run(&trace, job, work));
        }
        (self.progress_of(&state, trace), state.result.clone())
    }
}

fn run<T>(
    trace: &OpenTrace,
    job: fn(&OpenTrace) -> &Job<T>,
    work: fn(&OpenTrace, &AtomicU64) -> io::Result<T>,
) {
    // Taken before reading: lines that are appended meanwhile make the result stale, and the next request
    // starts the job again.
    let of_bytes = trace.progress().done;
    let result = work(trace, &job(trace).done);
    let mut state = job(trace).state.lock();
    // Also after an error: otherwise the job could never be started again.
    state.is_running = false;
    state.of_bytes = of_bytes;
    // A read error is reported by the index, which reads the same file.
    if let Ok(result) = result {
        state.result = Some(Arc::new(result));
    }
}

/// The limit of findings kept for each rule.
const FINDINGS: u64 = 200;

impl OpenTrace {
    /// The lint findings of the trace.
    pub(crate) fn findings(self: &Arc<Self>) -> (Progress, Option<Arc<Findings>>) {
        self.lint.result_or_start(self, |trace| &trace.lint, check)
    }

    /// The tools, with the tokens of their results.
    pub(crate) fn tools(self: &Arc<Self>) -> (Progress, Option<Arc<BTreeMap<String, Tool>>>) {
        self.tokens.result_or_start(self, |trace| &trace.tokens, count_tokens)
    }

    /// Reads the whole trace once more.
    pub(crate) fn scan(&self, done: &AtomicU64, mut each: impl FnMut(&Line<'_>)) -> io::Result<()> {
        let mut reader = TraceReader::new(self.source.reader());
        while let Some(line) = reader.next_line().map_err(|error| error.source)? {
            each(&line);
            done.store(line.offset, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Lints a whole trace.
pub(crate) fn check(trace: &OpenTrace, done: &AtomicU64) -> io::Result<Findings> {
    let options = LintOptions { revision: None, rules: rules::ALL.to_vec(), limit: Some(FINDINGS) };
    let mut linter = Linter::new(options);
    trace.scan(done, |line| linter.observe(line))?;
    let mut findings = linter.finish();
    // Rules that report only at the end don't have the line any more. Its excerpt is read from the file here.
    for diagnostic in findings.diagnostics.iter_mut().filter(|diagnostic| diagnostic.excerpt.is_none()) {
        if let Some((line, _)) = trace.line(diagnostic.line, u64::MAX)? {
            diagnostic.show_in(&line);
        }
    }
    Ok(findings)
}

/// Counts the tokens of a whole trace.
pub(crate) fn count_tokens(trace: &OpenTrace, done: &AtomicU64) -> io::Result<BTreeMap<String, Tool>> {
    let mut reading = Reading::new(Toolbox::new());
    trace.scan(done, |line| reading.observe(line))?;
    Ok(reading.finish(trace.recording_state()).finish())
}
