//! The sink: fills batches and seals them.

use super::backoff::in_time;
use super::batch::Batch;
use super::client::Client;
use super::options::{WebhookError, WebhookOptions};
use super::sender::Sender;
use super::spool::{Spool, WebhookFigures};
use crate::event::EventId;
use crate::sink::{Signal, Sink, SinkError, What};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the sender may take to notice that its time is over.
const GRACE: Duration = Duration::from_secs(1);

/// How often the sender is asked for its troubles while it has something to send.
const LOOK: Duration = Duration::from_secs(2);

/// Sends events to a receiver over HTTP, each at least once. [How](super).
///
/// What goes wrong while sending is told by the next call of [`take`](Sink::take), [`wake`](Sink::wake) or
/// [`finish`](Sink::finish). If it is dropped without `finish`, what it holds goes to the spool and is sent at the next
/// start.
pub struct WebhookSink {
    batch: Batch,
    spool: Arc<Spool>,
    sender: Option<JoinHandle<()>>,
    shutdown: Duration,
}

impl WebhookSink {
    /// Opens the spool, and begins to send what was left in it.
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

    /// How it is doing, to be asked from anywhere.
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

    /// Seals the batch. It can't wait any longer: if that fails, it is lost.
    fn seal(&mut self) {
        if let Err(error) = self.spool.add(&self.batch) {
            self.spool.unwritable(&error, self.batch.events());
        }
        self.batch.clear();
    }

    /// Seals the batch if it is old enough. If that fails, it has room for more, and is kept until later.
    fn seal_if_due(&mut self) {
        let now = Instant::now();
        if self.batch.due_in(now) != Some(Duration::ZERO) {
            return;
        }
        match self.spool.add(&self.batch) {
            Ok(()) => self.batch.clear(),
            Err(error) => {
                self.spool.unwritable(&error, 0);
                self.batch.put_off(now);
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
            if let What::Event(event) = &signal.what {
                self.push(*event.id(), signal.json());
            }
        }
        self.wake()
    }

    fn wake_in(&self) -> Option<Duration> {
        // While something waits to be sent, there may be trouble to tell.
        let trouble = (self.held() > 0).then_some(LOOK);
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
        let end = in_time(self.shutdown);
        self.spool.stop(end);
        // A request that is on its way and takes longer than that is left behind; its batch stays in the spool.
        if self.spool.await_sender(end + GRACE)
            && let Some(sender) = self.sender.take()
        {
            let _ = sender.join();
        }
        self.spool.all_troubles()
    }
}

impl Drop for WebhookSink {
    fn drop(&mut self) {
        self.seal();
        self.spool.stop(Instant::now());
    }
}
