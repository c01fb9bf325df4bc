//! The side of the sink: fills segments and seals them. Sending is left to the sender's thread, so a slow destination
//! never blocks the sink.

use super::backoff::deadline_after;
use super::batch::Batch;
use super::deliver::Deliver;
use super::open_file::OpenFile;
use super::options::{SpoolError, SpoolOptions};
use super::queue::{SpoolFigures, SpoolQueue};
use super::sender::Sender;
use crate::event::EventId;
use crate::sink::SinkError;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the sender may take to notice its deadline.
const GRACE: Duration = Duration::from_secs(1);

/// How often warnings are collected from the sender while it has something to send.
const TROUBLE_POLL: Duration = Duration::from_secs(2);

/// Keeps events on disk until they are delivered, each at least once. [How](super).
///
/// A sink calls [`push`](Self::push) for each event and [`commit`](Self::commit) once for all of them; the other
/// methods are those of [`Sink`](crate::Sink). Problems while sending are reported by the next call of `commit`,
/// [`wake`](Self::wake) or [`finish`](Self::finish). If the spool is dropped without `finish`, its open segment is
/// sealed, and sent at the next start.
pub struct Spool {
    batch: Batch,
    /// The batch's file; `None` before the batch is first committed.
    open: Option<OpenFile>,
    queue: Arc<SpoolQueue>,
    sender: Option<JoinHandle<()>>,
    shutdown: Duration,
}

impl Spool {
    /// Opens the spool, and starts sending what is in it.
    pub fn open(options: &SpoolOptions, deliver: impl Deliver + 'static) -> Result<Self, SpoolError> {
        let queue = Arc::new(SpoolQueue::open(options)?);
        let sender = Sender::new(Arc::clone(&queue), Box::new(deliver), options);
        let sender = thread::Builder::new().name("spool".to_owned()).spawn(move || sender.run());
        Ok(Spool {
            batch: Batch::new(options.batch_events, options.batch_bytes, options.batch_time),
            open: None,
            queue,
            sender: Some(sender.map_err(SpoolError::Thread)?),
            shutdown: options.shutdown,
        })
    }

    /// The counters, which can be read from any thread.
    pub fn figures(&self) -> Arc<SpoolFigures> {
        Arc::clone(self.queue.figures())
    }

    /// Adds one event. It survives the process from the next [`commit`](Self::commit) on.
    pub fn push(&mut self, id: EventId, json: &[u8]) {
        if self.batch.has_no_room_for(json) {
            self.seal();
        }
        self.batch.push(id, json, Instant::now());
        if self.batch.is_full() {
            self.seal();
        }
    }

    /// Writes what was pushed to disk: after that, it survives the end of the process.
    pub fn commit(&mut self) -> Result<(), SinkError> {
        if let Err(error) = self.write_open() {
            // Nothing is lost yet: the events are still in memory, and are written by the next commit or sealed.
            self.queue.unwritable(&error, 0);
        }
        self.wake()
    }

    /// How soon [`wake`](Self::wake) is to be called; `None` means never.
    pub fn wake_in(&self) -> Option<Duration> {
        // The sender's thread has no way to call the bus, so its warnings have to be polled while it has
        // work.
        let trouble = (self.held() > 0).then_some(TROUBLE_POLL);
        self.batch.due_in(Instant::now()).into_iter().chain(trouble).min()
    }

    /// How many events are neither delivered nor lost.
    pub fn held(&self) -> u64 {
        self.batch.events() + self.queue.figures().pending()
    }

    /// Seals the segment if it is old enough, and returns the warnings that are due.
    pub fn wake(&mut self) -> Result<(), SinkError> {
        self.seal_if_due();
        self.queue.troubles()
    }

    /// Seals the segment, and keeps sending for the time that [`SpoolOptions::shutdown`] allows.
    pub fn finish(&mut self) -> Result<(), SinkError> {
        self.seal();
        let end = deadline_after(self.shutdown);
        self.queue.stop(end);
        // A request that takes longer is abandoned with the process; its segment stays in the spool for the
        // next start.
        if self.queue.await_sender(end + GRACE)
            && let Some(sender) = self.sender.take()
        {
            // It has ended, so this doesn't wait; a panic in it has already been printed.
            let _ = sender.join();
        }
        self.queue.all_troubles()
    }

    fn write_open(&mut self) -> io::Result<()> {
        let Some(first) = self.batch.first() else { return Ok(()) };
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(self.queue.create_open(first)?),
        };
        open.append(self.batch.lines())
    }

    /// Seals a segment that is full. If that fails, its events are lost: keeping them would exceed the memory
    /// limit.
    fn seal(&mut self) {
        if let Err(error) = self.try_seal() {
            self.queue.unwritable(&error, self.batch.events());
            if let Some(open) = self.open.take() {
                self.queue.remove_open(open.name);
            }
            self.batch.clear();
        }
    }

    /// Seals the segment if it is old enough. If that fails, nothing is lost: there is room for more, and it is
    /// tried again later.
    fn seal_if_due(&mut self) {
        let now = Instant::now();
        if self.batch.due_in(now) == Some(Duration::ZERO)
            && let Err(error) = self.try_seal()
        {
            self.queue.unwritable(&error, 0);
            self.batch.restart_age(now);
        }
    }

    fn try_seal(&mut self) -> io::Result<()> {
        self.queue.add(&self.batch, self.open.as_ref().map(|open| open.name))?;
        self.open = None;
        self.batch.clear();
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // After `finish` the batch is empty, and this does nothing. Not joined: `drop` must not wait for a
        // request.
        self.seal();
        self.queue.stop(Instant::now());
    }
}
