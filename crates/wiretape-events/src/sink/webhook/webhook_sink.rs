//! The sink: fills batches and seals them. Sending is left to the sender's thread, so a slow receiver never
//! blocks the sink.

use super::backoff::deadline_after;
use super::batch::Batch;
use super::client::Client;
use super::options::{WebhookError, WebhookOptions};
use super::sender::Sender;
use super::spool::{Spool, WebhookFigures};
use crate::event::EventId;
use crate::sink::{Signal, SignalBody, Sink, SinkError};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the sender may take to notice its deadline.
const GRACE: Duration = Duration::from_secs(1);

/// How often warnings are collected from the sender while it has something to send.
const TROUBLE_POLL: Duration = Duration::from_secs(2);

/// Sends events to a receiver over HTTP, each at least once. [How](super).
///
/// Problems while sending are reported by the next call of [`take`](Sink::take), [`wake`](Sink::wake) or
/// [`finish`](Sink::finish). If the sink is dropped without `finish`, its open batch goes to the spool and is
/// sent at the next start.
pub struct WebhookSink {
    batch: Batch,
    spool: Arc<Spool>,
    sender: Option<JoinHandle<()>>,
    shutdown: Duration,
}

impl WebhookSink {
    /// Opens the spool, and starts sending what is in it.
    pub fn new(options: &WebhookOptions) -> Result<Self, WebhookError> {
        let client = Client::new(options)?;
        let spool = Arc::new(Spool::open(options)?);
        let sender = Sender::new(Arc::clone(&spool), client, options);
        let sender = thread::Builder::new().name("webhook".to_owned()).spawn(move || sender.run());
        Ok(WebhookSink {
            batch: Batch::new(options.batch_events, options.batch_bytes, options.batch_time),
            spool,
            sender: Some(sender.map_err(WebhookError::Thread)?),
            shutdown: options.shutdown,
        })
    }

    /// The counters, which can be read from any thread.
    pub fn figures(&self) -> Arc<WebhookFigures> {
        Arc::clone(self.spool.figures())
    }

    fn push(&mut self, id: EventId, json: &[u8]) {
        if self.batch.has_no_room_for(json) {
            self.seal();
        }
        self.batch.push(id, json, Instant::now());
        if self.batch.is_full() {
            self.seal();
        }
    }

    /// Seals a batch that is full. If that fails, its events are lost: keeping them would exceed the memory
    /// limit.
    fn seal(&mut self) {
        if let Err(error) = self.spool.add(&self.batch) {
            self.spool.unwritable(&error, self.batch.events());
        }
        self.batch.clear();
    }

    /// Seals the batch if it is old enough. If that fails, nothing is lost: there is room for more, and it is
    /// tried again later.
    fn seal_if_due(&mut self) {
        let now = Instant::now();
        if self.batch.due_in(now) != Some(Duration::ZERO) {
            return;
        }
        match self.spool.add(&self.batch) {
            Ok(()) => self.batch.clear(),
            Err(error) => {
                self.spool.unwritable(&error, 0);
                self.batch.restart_age(now);
            }
        }
    }
}

impl Sink for WebhookSink {
    fn name(&self) -> &str {
        "webhook"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        for signal in signals {
            if let SignalBody::Event(event) = &signal.what {
                self.push(*event.id(), signal.json());
            }
        }
        self.wake()
    }

    fn wake_in(&self) -> Option<Duration> {
        // The sender's thread has no way to call the bus, so its warnings have to be polled while it has
        // work.
        let trouble = (self.held() > 0).then_some(TROUBLE_POLL);
        self.batch.due_in(Instant::now()).into_iter().chain(trouble).min()
    }

    fn held(&self) -> u64 {
        self.batch.events() + self.spool.figures().pending()
    }

    fn wake(&mut self) -> Result<(), SinkError> {
        self.seal_if_due();
        self.spool.troubles()
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.seal();
        let end = deadline_after(self.shutdown);
        self.spool.stop(end);
        // A request that takes longer is abandoned with the process; its batch stays in the spool for the
        // next start.
        if self.spool.await_sender(end + GRACE)
            && let Some(sender) = self.sender.take()
        {
            // It has ended, so this doesn't wait; a panic in it has already been printed.
            let _ = sender.join();
        }
        self.spool.all_troubles()
    }
}

impl Drop for WebhookSink {
    fn drop(&mut self) {
        // After `finish` the batch is empty, and this does nothing. Not joined: `drop` must not wait for a
        // request.
        self.seal();
        self.spool.stop(Instant::now());
    }
}
