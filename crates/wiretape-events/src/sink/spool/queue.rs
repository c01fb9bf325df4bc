//! The queue of sealed segments, shared by the sink's thread, which seals, and the sender's thread, which sends.
//!
//! One mutex guards the queue and the warnings. It is never held during a request, so a slow destination doesn't
//! block the sink.

use super::backoff::deadline_after;
use super::batch::Batch;
use super::directory::{Contents, Directory};
use super::open_file::OpenFile;
use super::options::{SpoolError, SpoolOptions};
use super::segment::{OpenName, SegmentName, UploadPart, pack};
use super::trouble::Troubles;
use crate::event::EventId;
use crate::sink::SinkError;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The size that a file is rounded up to. Many small files would otherwise take many times the configured
/// size on disk.
const BLOCK: u64 = 4096;

/// The counters of a spool. Lock-free, so they can be read at any time.
#[derive(Debug, Default)]
pub struct SpoolFigures {
    pending: AtomicU64,
    delivered: AtomicU64,
    lost: AtomicU64,
}

impl SpoolFigures {
    /// Events in sealed segments.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// Events that the destination has accepted since the start.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Events that were dropped, rejected or could not be written since the start.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

pub(super) struct SpoolQueue {
    directory: Directory,
    limit: u64,
    figures: Arc<SpoolFigures>,
    state: Mutex<SpoolState>,
    /// Notified about a new segment, a request to stop, and the sender's end.
    changed: Condvar,
}

struct SpoolState {
    waiting: VecDeque<QueuedSegment>,
    bytes: u64,
    next_number: u64,
    stop: Stop,
    sender_ended: bool,
    troubles: Troubles,
}

struct QueuedSegment {
    name: SegmentName,
    bytes: u64,
    /// Those that are not delivered yet: a segment sent in halves may be delivered in part.
    events: u64,
    /// A request with it is in flight. Only the first segment is ever sent.
    sending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    By(Instant),
}

/// The reason for the pause before the next attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The destination asked for it, which is respected even during shutdown.
    Asked(Duration),
    /// The destination failed. A shutdown interrupts this pause once, for a last attempt.
    Backoff(Duration),
}

impl SpoolQueue {
    /// Opens the spool, and queues the segments that are already in it.
    pub(super) fn open(options: &SpoolOptions) -> Result<Self, SpoolError> {
        let root = &options.directory;
        let directory = Directory::open(root).map_err(SpoolError::directory(root))?;
        let contents = directory.contents().map_err(SpoolError::directory(directory.path()))?;
        let state = SpoolState {
            waiting: VecDeque::new(),
            bytes: 0,
            next_number: contents.last_number().map_or(0, |number| number.saturating_add(1)),
            stop: Stop::No,
            sender_ended: false,
            troubles: Troubles::default(),
        };
        let spool = SpoolQueue {
            directory,
            limit: options.max_bytes,
            figures: Arc::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        let contents = spool.recover(&spool.directory, contents);
        spool.take_over(contents);
        // Not fatal: this process can still spool and send its own events.
        if let Err(error) = spool.adopt_orphans(root) {
            let message = format!(
                "can't take over the events that another process left in {}: {error}",
                root.display()
            );
            spool.state.lock().troubles.report(message, 0);
        }
        Ok(spool)
    }

    /// Seals the segments that a killed process has left open. One that can't be read or sealed now, as on a full
    /// disk, stays for the next start.
    fn recover(&self, directory: &Directory, mut contents: Contents) -> Contents {
        for name in std::mem::take(&mut contents.open) {
            if contents.segments.iter().any(|(sealed, _)| sealed.number == name.number) {
                // Killed between sealing and removing: the sealed one has all of it.
                let _ = directory.remove_open(name);
                continue;
            }
            match directory.recover(name) {
                Ok(recovered) => {
                    if recovered.is_torn {
                        self.report_torn(directory);
                    }
                    contents.segments.extend(recovered.sealed);
                }
                Err(error) => {
                    let place = directory.path().display();
                    let message = format!("can't recover the events of a killed process in {place}: {error}");
                    self.state.lock().troubles.report(message, 0);
                }
            }
        }
        contents.segments.sort_by_key(|(name, _)| name.number);
        contents
    }

    fn report_torn(&self, directory: &Directory) {
        let place = directory.path().display();
        let message = format!("an event in {place} was cut off when its process was killed");
        self.count_lost(1);
        self.state.lock().troubles.report(message, 1);
    }

    fn take_over(&self, contents: Contents) {
        let mut state = self.state.lock();
        for (name, bytes) in contents.segments {
            self.enqueue(&mut state, name, bytes);
        }
        if !contents.foreign.is_empty() {
            state.troubles.report(describe_foreign(&contents.foreign), 0);
        }
    }

    fn adopt_orphans(&self, root: &std::path::Path) -> io::Result<()> {
        for orphan in Directory::orphans(root)? {
            let contents = self.recover(&orphan, orphan.contents()?);
            let mut adopted = Contents { foreign: contents.foreign, ..Contents::default() };
            for (old, bytes) in contents.segments {
                // Renumbered, because numbers are unique only within a directory. The token
                // doesn't depend on them.
                let new = SegmentName { number: self.next_number(), ..old };
                self.directory.adopt(&orphan, old, new)?;
                adopted.segments.push((new, bytes));
            }
            self.take_over(adopted);
        }
        Ok(())
    }

    pub(super) fn figures(&self) -> &Arc<SpoolFigures> {
        &self.figures
    }

    /// The spool's path, for messages.
    pub(super) fn place(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Creates the file for an open segment that begins with this event.
    pub(super) fn create_open(&self, first: EventId) -> io::Result<OpenFile> {
        let name = OpenName { number: self.next_number(), first };
        Ok(OpenFile::new(name, self.directory.create_open(name)?))
    }

    /// Seals a batch and queues it. `open` is the file that has it already, if any; it can be deleted then.
    pub(super) fn add(&self, batch: &Batch, open: Option<OpenName>) -> io::Result<()> {
        let Some(first) = batch.first() else { return Ok(()) };
        let body = pack(batch.lines());
        let open_name = open.unwrap_or_else(|| OpenName { number: self.next_number(), first });
        let name = open_name.sealed(batch.events());
        // Written without the lock, so that the sender isn't blocked by a slow disk.
        self.directory.write(name, &body)?;
        if let Some(open) = open {
            // Before the sender can know of the sealed one: if it was sent and gone and the open one were still there,
            // the next start would send it again.
            self.remove_open(open);
        }
        let mut state = self.state.lock();
        state.troubles.written();
        self.enqueue(&mut state, name, body.len() as u64);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Removes the file of an open segment.
    pub(super) fn remove_open(&self, name: OpenName) {
        if let Err(error) = self.directory.remove_open(name) {
            let message = format!("can't remove {name} from the spool {}: {error}", self.place());
            self.state.lock().troubles.report(message, 0);
        }
    }

    /// Counts a batch that could not be written, and warns.
    pub(super) fn unwritable(&self, error: &io::Error, lost: u64) {
        self.figures.lost.fetch_add(lost, Ordering::Relaxed);
        let message = || format!("can't write events to the spool {}: {error}", self.place());
        self.state.lock().troubles.unwritable(lost, message);
    }

    /// The warnings that are due now, as an error with the number of lost events.
    pub(super) fn troubles(&self) -> Result<(), SinkError> {
        self.state.lock().troubles.take()
    }

    /// All remaining warnings, at shutdown.
    pub(super) fn all_troubles(&self) -> Result<(), SinkError> {
        let mut state = self.state.lock();
        let waiting: u64 = state.waiting.iter().map(|segment| segment.events).sum();
        if waiting > 0 {
            let place = self.place();
            let message =
                format!("{waiting} unsent events remain in {place} and will be sent at the next start");
            state.troubles.report(message, 0);
        }
        state.troubles.take_all()
    }

    /// Makes the sender stop when everything is sent, or at `by`.
    pub(super) fn stop(&self, by: Instant) {
        self.state.lock().stop = Stop::By(by);
        self.changed.notify_all();
    }

    /// Whether a shutdown is in progress.
    pub(super) fn is_stopping(&self) -> bool {
        self.state.lock().stop != Stop::No
    }

    /// Waits for the sender to end, at most until `until`. Whether it has.
    pub(super) fn await_sender(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.sender_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.changed.wait_for(&mut state, left);
        }
        true
    }

    /// Called by the sender when its thread ends.
    pub(super) fn sender_ended(&self) {
        self.state.lock().sender_ended = true;
        self.changed.notify_all();
    }

    /// Waits for a segment; `None` when it is time to stop.
    pub(super) fn next(&self) -> Option<SegmentName> {
        let mut state = self.state.lock();
        loop {
            if state.stop.time_left(Instant::now()) == Some(Duration::ZERO) {
                return None;
            }
            if let Some(first) = state.waiting.front() {
                return Some(first.name);
            }
            if state.stop != Stop::No {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Reads a segment. A damaged or unreadable one is removed from the queue and counted as lost.
    pub(super) fn read(&self, name: SegmentName) -> Option<UploadPart> {
        let why = match self.directory.read(name) {
            Ok(body) => match UploadPart::whole(name, body) {
                Some(part) => return Some(part),
                None => self.set_aside(name),
            },
            Err(error) => format!("can't read {}: {error}", self.directory.file(name).display()),
        };
        let mut state = self.state.lock();
        let lost = self.forget(&mut state, name);
        self.count_lost(lost);
        state.troubles.report(format!("{why}; skipped its {lost} events"), lost);
        None
    }

    fn set_aside(&self, name: SegmentName) -> String {
        let file = self.directory.file(name);
        match self.directory.set_aside(name) {
            Ok(torn) => format!("a damaged batch was moved to {}", torn.display()),
            Err(_) => format!("the batch {} is damaged", file.display()),
        }
    }

    /// The timeout of the next attempt; `None` if there must be none, because the segment was dropped or time
    /// is up.
    pub(super) fn begin_attempt(&self, name: SegmentName, timeout: Duration) -> Option<Duration> {
        let mut state = self.state.lock();
        let left = state.stop.time_left(Instant::now());
        let first = state.waiting.front_mut().filter(|first| first.name == name)?;
        let timeout = left.map_or(timeout, |left| left.min(timeout));
        if timeout.is_zero() {
            return None;
        }
        first.sending = true;
        Some(timeout)
    }

    /// Counts events of a segment as delivered.
    pub(super) fn delivered(&self, name: SegmentName, events: u64) {
        let mut state = self.state.lock();
        self.figures.delivered.fetch_add(events, Ordering::Relaxed);
        self.account_for(&mut state, name, events);
        state.troubles.delivered();
    }

    /// Counts events of a segment that the destination will never accept.
    pub(super) fn rejected(&self, name: SegmentName, events: u64, message: impl FnOnce() -> String) {
        let mut state = self.state.lock();
        self.count_lost(events);
        self.account_for(&mut state, name, events);
        state.troubles.rejected(events, message);
    }

    fn account_for(&self, state: &mut SpoolState, name: SegmentName, events: u64) {
        if let Some(first) = state.waiting.front_mut().filter(|first| first.name == name) {
            first.events = first.events.saturating_sub(events);
            self.figures.pending.fetch_sub(events, Ordering::Relaxed);
        }
    }

    /// Removes a segment that was sent completely.
    pub(super) fn done(&self, name: SegmentName) {
        let mut state = self.state.lock();
        self.forget(&mut state, name);
        // At half the limit and not at once: around the limit, "full" and "room again" would be reported for
        // every segment.
        if state.bytes <= self.limit / 2 {
            state.troubles.has_room();
        }
        if let Err(error) = self.directory.remove(name) {
            let file = self.directory.file(name);
            let message = format!("sent {}, but can't remove it: {error}", file.display());
            state.troubles.report(message, 0);
        }
    }

    /// Waits before the next attempt. If the pause would last beyond the shutdown's deadline, the sender
    /// stops instead.
    pub(super) fn pause(&self, name: SegmentName, pause: Pause, message: impl FnOnce() -> String) {
        let mut state = self.state.lock();
        state.troubles.failing(message);
        if let Some(first) = state.waiting.front_mut().filter(|first| first.name == name) {
            first.sending = false;
        }
        let (Pause::Asked(wait) | Pause::Backoff(wait)) = pause;
        let until = deadline_after(wait);
        let stop_before = state.stop;
        loop {
            let now = Instant::now();
            let hurried = state.stop != stop_before && matches!(pause, Pause::Backoff(_));
            if hurried || now >= until {
                return;
            }
            if let Stop::By(end) = state.stop
                && until >= end
            {
                state.stop = Stop::By(now);
                return;
            }
            self.changed.wait_for(&mut state, until - now);
        }
    }

    fn next_number(&self) -> u64 {
        let mut state = self.state.lock();
        let number = state.next_number;
        state.next_number = number.saturating_add(1);
        number
    }

    fn enqueue(&self, state: &mut SpoolState, name: SegmentName, bytes: u64) {
        self.figures.pending.fetch_add(name.events, Ordering::Relaxed);
        let bytes = bytes.next_multiple_of(BLOCK);
        state.bytes += bytes;
        state.waiting.push_back(QueuedSegment { name, bytes, events: name.events, sending: false });
        self.make_room(state);
    }

    /// Drops the oldest segments until the spool is within its limit. A segment in flight stays: it may be
    /// delivered already.
    fn make_room(&self, state: &mut SpoolState) {
        while state.bytes > self.limit {
            let Some(oldest) = state.waiting.iter().find(|segment| !segment.sending) else { return };
            let name = oldest.name;
            let lost = self.forget(state, name);
            self.count_lost(lost);
            let message = || {
                let (place, limit) = (self.place(), self.limit);
                format!(
                    "the spool {place} has reached its limit of {limit} bytes; dropping the oldest events"
                )
            };
            state.troubles.full(lost, message);
            if let Err(error) = self.directory.remove(name) {
                let message = format!("can't remove {}: {error}", self.directory.file(name).display());
                state.troubles.report(message, 0);
            }
        }
    }

    /// Removes a segment from the queue, and returns how many of its events were not delivered.
    fn forget(&self, state: &mut SpoolState, name: SegmentName) -> u64 {
        let Some(at) = state.waiting.iter().position(|segment| segment.name == name) else { return 0 };
        let Some(segment) = state.waiting.remove(at) else { return 0 };
        state.bytes -= segment.bytes;
        self.figures.pending.fetch_sub(segment.events, Ordering::Relaxed);
        segment.events
    }

    fn count_lost(&self, events: u64) {
        self.figures.lost.fetch_add(events, Ordering::Relaxed);
    }
}

impl Stop {
    fn time_left(self, now: Instant) -> Option<Duration> {
        match self {
            Stop::No => None,
            Stop::By(end) => Some(end.saturating_duration_since(now)),
        }
    }
}

fn describe_foreign(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().take(3).map(|path| path.display().to_string()).collect();
    let others = match paths.len().saturating_sub(names.len()) {
        0 => String::new(),
        others => format!(" and {others} others"),
    };
    format!("ignoring files in the spool that wiretape did not write: {}{others}", names.join(", "))
}
