//! What the first page says of each trace: counted in the background, once for each state of a file.

use crate::introduction::{answered, asked};
use crate::query::info::introduction;
use crate::trace::OpenTrace;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use wiretape_analyze::summary::TraceSummary;
use wiretape_library::{TraceDirectory, TraceState, open};
use wiretape_trace::format::Record;

/// One trace in a few numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub(crate) client: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) duration_us: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) messages: u64,
}

impl Summary {
    /// What is known of a trace that is open; unknown if it can't be read.
    pub(crate) fn of_open(trace: &OpenTrace) -> Option<Self> {
        let told = introduction(trace, |_| true).ok()?;
        let index = trace.index();
        let duration_us = index.times().and_then(|(first, last)| u64::try_from(last - first).ok());
        Some(Summary {
            client: told.client,
            server: told.server,
            duration_us,
            calls: index.calls() as u64,
            errors: index.errors,
            messages: index.messages,
        })
    }
}

/// The summaries of traces.
pub(crate) struct Summaries {
    known: Mutex<HashMap<PathBuf, Known>>,
    wanted: Mutex<Sender<(PathBuf, u64)>>,
    version: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct Known {
    /// The size of the file that it is of.
    bytes: u64,
    /// The size of the file that is being counted.
    asked: Option<u64>,
    summary: Option<Summary>,
}

/// How often the directory is checked for what is new.
const LOOK: Duration = Duration::from_millis(300);

impl Summaries {
    /// Begins to count when somebody asks.
    pub(crate) fn start(directory: Arc<TraceDirectory>) -> Arc<Self> {
        let (sender, receiver) = mpsc::channel();
        let summaries = Arc::new(Summaries {
            known: Mutex::default(),
            wanted: Mutex::new(sender),
            version: AtomicU64::new(0),
        });
        let counting = Arc::downgrade(&summaries);
        thread::spawn(move || count(&counting, &receiver));
        let watching = Arc::downgrade(&summaries);
        thread::spawn(move || watch(&watching, &directory));
        summaries
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The summary of a file, as it was when it was last counted; it is counted again if it has grown.
    pub(crate) fn of(&self, path: &Path, bytes: u64) -> Option<Summary> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(path.to_owned()).or_default();
        if known.bytes != bytes && known.asked.is_none() {
            known.asked = Some(bytes);
            let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            // The other side is gone only when the program ends.
            let _ = wanted.send((path.to_owned(), bytes));
        }
        known.summary.clone()
    }
}

fn count(summaries: &std::sync::Weak<Summaries>, wanted: &Receiver<(PathBuf, u64)>) {
    while let Ok((path, bytes)) = wanted.recv() {
        let summary = summarize(&path);
        let Some(summaries) = summaries.upgrade() else { return };
        let mut known = summaries.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.entry(path).or_default();
        *place = Known { bytes, asked: None, summary: summary.or(place.summary.take()) };
        drop(known);
        summaries.version.fetch_add(1, Ordering::AcqRel);
    }
}

/// Notices traces that come, go, grow or end.
fn watch(summaries: &std::sync::Weak<Summaries>, directory: &TraceDirectory) {
    let mut before = None;
    loop {
        thread::sleep(LOOK);
        let Some(summaries) = summaries.upgrade() else { return };
        let listing = directory.traces();
        let state = |path: &Path| directory.state(path);
        let now: Vec<(PathBuf, u64, TraceState)> = listing
            .traces
            .iter()
            .map(|entry| (entry.path.clone(), entry.bytes, state(&entry.path)))
            .collect();
        if before.as_ref().is_some_and(|before| *before != now) {
            summaries.version.fetch_add(1, Ordering::AcqRel);
        }
        before = Some(now);
    }
}

/// Reads a trace; `None` if that fails, which the listing reports.
fn summarize(path: &Path) -> Option<Summary> {
    let mut reader = open(path).ok()?;
    let (mut summary, mut counted) = (Summary::default(), TraceSummary::new());
    while let Ok(Some(line)) = reader.next_line() {
        if let (Record::Message(message), true) = (&line.record, line.number < INTRODUCTIONS) {
            introduce(&mut summary, message.raw);
        }
        counted.observe(line.number, &line.record);
    }
    counted.finish();
    summary.duration_us = counted.duration_us();
    summary.calls = counted.calls.calls;
    summary.errors = counted.calls.errors();
    summary.messages = counted.messages();
    Some(summary)
}

/// Who they are, client and server say among the first lines.
const INTRODUCTIONS: u64 = 50;

fn introduce(summary: &mut Summary, raw: &[u8]) {
    let mut told = asked(raw);
    answered(raw, &mut told);
    summary.client = summary.client.take().or(told.client);
    summary.server = summary.server.take().or(told.server);
}
