//! What waits to be sent, shared by the thread that seals and the thread that sends.

use super::backoff::in_time;
use super::batch::Batch;
use super::directory::{Contents, Directory};
use super::options::{WebhookError, WebhookOptions};
use super::segment::{Part, SegmentName, pack};
use super::trouble::Troubles;
use crate::sink::SinkError;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A file takes at least this of a disk. Without it, many small files would take many times what was allowed.
const BLOCK: u64 = 4096;

/// How a webhook is doing. Cheap to ask at any time.
#[derive(Debug, Default)]
pub struct WebhookFigures {
    pending: AtomicU64,
    delivered: AtomicU64,
    lost: AtomicU64,
}

impl WebhookFigures {
    /// Events in the spool. Those of the batch that is still open aren't among them.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// Events that the receiver has taken since the start.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Events that were lost since the start.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

pub(super) struct Spool {
    directory: Directory,
    limit: u64,
    figures: Arc<WebhookFigures>,
    state: Mutex<State>,
    /// Something is new: a segment, the wish to stop, or the sender's end.
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    next_number: u64,
    stop: Stop,
    sender_ended: bool,
    troubles: Troubles,
}

struct Waiting {
    name: SegmentName,
    bytes: u64,
    /// Those that aren't delivered yet.
    events: u64,
    /// A request with it is on its way. Only the first one is ever sent.
    sending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    By(Instant),
}

/// Why to wait before the next attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The receiver has asked for it.
    Asked(Duration),
    /// To go easy on a receiver that fails. When the end is near, it is cut short once.
    Backoff(Duration),
}

impl Spool {
    /// Opens the spool and takes over what was left in it.
    pub(super) fn open(options: &WebhookOptions) -> Result<Self, WebhookError> {
        let root = &options.spool_dir;
        let directory = Directory::open(root).map_err(WebhookError::spool(root))?;
        let contents = directory.contents().map_err(WebhookError::spool(directory.path()))?;
        let state = State {
            waiting: VecDeque::new(),
            bytes: 0,
            next_number: contents.segments.last().map_or(0, |(name, _)| name.number.saturating_add(1)),
            stop: Stop::No,
            sender_ended: false,
            troubles: Troubles::default(),
        };
        let spool = Spool {
            directory,
            limit: options.spool_bytes,
            figures: Arc::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        spool.take_over(contents);
        if let Err(error) = spool.adopt_orphans(root) {
            let message =
                format!("what another process has left in {} can't be taken over: {error}", root.display());
            spool.lock().troubles.tell(message, 0);
        }
        Ok(spool)
    }

    fn take_over(&self, contents: Contents) {
        let mut state = self.lock();
        for (name, bytes) in contents.segments {
            self.enqueue(&mut state, name, bytes);
        }
        if !contents.foreign.is_empty() {
            state.troubles.tell(describe_foreign(&contents.foreign), 0);
        }
    }

    fn adopt_orphans(&self, root: &std::path::Path) -> io::Result<()> {
        for orphan in Directory::orphans(root)? {
            let contents = orphan.contents()?;
            let mut adopted = Contents { segments: Vec::new(), foreign: contents.foreign };
            for (old, bytes) in contents.segments {
                let new = SegmentName { number: self.next_number(), ..old };
                self.directory.adopt(&orphan, old, new)?;
                adopted.segments.push((new, bytes));
            }
            self.take_over(adopted);
        }
        Ok(())
    }

    pub(super) fn figures(&self) -> &Arc<WebhookFigures> {
        &self.figures
    }

    /// Where it is, for the user.
    pub(super) fn place(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Writes a batch down. When this is `Ok`, it survives our end.
    pub(super) fn add(&self, batch: &Batch) -> io::Result<()> {
        let Some(first) = batch.first() else { return Ok(()) };
        let body = pack(batch.lines());
        let name = SegmentName { number: self.next_number(), events: batch.events(), first };
        self.directory.write(name, &body)?;
        let mut state = self.lock();
        state.troubles.written();
        self.enqueue(&mut state, name, body.len() as u64);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// A batch could not be written down.
    pub(super) fn unwritable(&self, error: &io::Error, lost: u64) {
        self.figures.lost.fetch_add(lost, Ordering::Relaxed);
        let message = || format!("events can't be written to the spool {}: {error}", self.place());
        self.lock().troubles.unwritable(lost, message);
    }

    /// What the user is to be told now.
    pub(super) fn troubles(&self) -> Result<(), SinkError> {
        self.lock().troubles.take()
    }

    /// The same, at the end.
    pub(super) fn all_troubles(&self) -> Result<(), SinkError> {
        let mut state = self.lock();
        let waiting: u64 = state.waiting.iter().map(|segment| segment.events).sum();
        if waiting > 0 {
            let place = self.place();
            let message = format!("{waiting} events wait in {place} and are sent at the next start");
            state.troubles.tell(message, 0);
        }
        state.troubles.take_all()
    }

    /// Lets the sender end when all is sent, or at that time.
    pub(super) fn stop(&self, by: Instant) {
        self.lock().stop = Stop::By(by);
        self.changed.notify_all();
    }

    /// Whether the sender is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.lock().stop != Stop::No
    }

    /// Waits until the sender has ended, but not beyond that time. Whether it has.
    pub(super) fn await_sender(&self, until: Instant) -> bool {
        let mut state = self.lock();
        while !state.sender_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The sender is no more.
    pub(super) fn sender_ended(&self) {
        self.lock().sender_ended = true;
        self.changed.notify_all();
    }

    /// Waits for a segment; `None` when it is time to stop.
    pub(super) fn next(&self) -> Option<SegmentName> {
        let mut state = self.lock();
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
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads a segment. One that can't be read or isn't complete is skipped, and `None`.
    pub(super) fn read(&self, name: SegmentName) -> Option<Part> {
        let why = match self.directory.read(name) {
            Ok(body) => match Part::whole(name, body) {
                Some(part) => return Some(part),
                None => self.set_aside(name),
            },
            Err(error) => format!("{} can't be read: {error}", self.directory.file(name).display()),
        };
        let mut state = self.lock();
        let lost = self.forget(&mut state, name);
        self.count_lost(lost);
        state.troubles.tell(format!("{why}; its {lost} events are skipped"), lost);
        None
    }

    fn set_aside(&self, name: SegmentName) -> String {
        let file = self.directory.file(name);
        match self.directory.set_aside(name) {
            Ok(torn) => format!("a batch in the spool was damaged and is now {}", torn.display()),
            Err(_) => format!("the batch {} is damaged", file.display()),
        }
    }

    /// How long an attempt may take; `None` if there is to be none, for the segment was dropped or it is time to stop.
    pub(super) fn begin_attempt(&self, name: SegmentName, timeout: Duration) -> Option<Duration> {
        let mut state = self.lock();
        let left = state.stop.time_left(Instant::now());
        let first = state.waiting.front_mut().filter(|first| first.name == name)?;
        let timeout = left.map_or(timeout, |left| left.min(timeout));
        if timeout.is_zero() {
            return None;
        }
        first.sending = true;
        Some(timeout)
    }

    /// So many events of the segment have arrived.
    pub(super) fn delivered(&self, name: SegmentName, events: u64) {
        let mut state = self.lock();
        self.figures.delivered.fetch_add(events, Ordering::Relaxed);
        self.settle(&mut state, name, events);
        state.troubles.delivered();
    }

    /// So many events of the segment can never be delivered.
    pub(super) fn rejected(&self, name: SegmentName, events: u64, message: impl FnOnce() -> String) {
        let mut state = self.lock();
        self.count_lost(events);
        self.settle(&mut state, name, events);
        state.troubles.rejected(events, message);
    }

    fn settle(&self, state: &mut State, name: SegmentName, events: u64) {
        if let Some(first) = state.waiting.front_mut().filter(|first| first.name == name) {
            first.events = first.events.saturating_sub(events);
            self.figures.pending.fetch_sub(events, Ordering::Relaxed);
        }
    }

    /// Nothing of the segment is left to be sent.
    pub(super) fn done(&self, name: SegmentName) {
        let mut state = self.lock();
        self.forget(&mut state, name);
        if state.bytes <= self.limit / 2 {
            state.troubles.has_room();
        }
        if let Err(error) = self.directory.remove(name) {
            let file = self.directory.file(name);
            let message = format!("{} was sent but can't be removed: {error}", file.display());
            state.troubles.tell(message, 0);
        }
    }

    /// Waits before the next attempt. A wait that would end after the end is not begun: the sender stops instead.
    pub(super) fn pause(&self, name: SegmentName, pause: Pause, message: impl FnOnce() -> String) {
        let mut state = self.lock();
        state.troubles.failing(message);
        if let Some(first) = state.waiting.front_mut().filter(|first| first.name == name) {
            first.sending = false;
        }
        let (Pause::Asked(wait) | Pause::Backoff(wait)) = pause;
        let until = in_time(wait);
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
            state = self.changed.wait_timeout(state, until - now).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_number(&self) -> u64 {
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number = number.saturating_add(1);
        number
    }

    fn enqueue(&self, state: &mut State, name: SegmentName, bytes: u64) {
        self.figures.pending.fetch_add(name.events, Ordering::Relaxed);
        let bytes = bytes.next_multiple_of(BLOCK);
        state.bytes += bytes;
        state.waiting.push_back(Waiting { name, bytes, events: name.events, sending: false });
        self.make_room(state);
    }

    /// Drops the oldest until the rest is small enough. What is on its way stays.
    fn make_room(&self, state: &mut State) {
        while state.bytes > self.limit {
            let Some(oldest) = state.waiting.iter().find(|segment| !segment.sending) else { return };
            let name = oldest.name;
            let lost = self.forget(state, name);
            self.count_lost(lost);
            let message = || {
                let (place, limit) = (self.place(), self.limit);
                format!("the spool {place} has reached its {limit} bytes: the oldest events are dropped")
            };
            state.troubles.full(lost, message);
            if let Err(error) = self.directory.remove(name) {
                let message = format!("{} can't be removed: {error}", self.directory.file(name).display());
                state.troubles.tell(message, 0);
            }
        }
    }

    /// Takes a segment out of the queue, and says how many events of it were not delivered.
    fn forget(&self, state: &mut State, name: SegmentName) -> u64 {
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
    format!("in the spool there is what doesn't belong there, and isn't sent: {}{others}", names.join(", "))
}
