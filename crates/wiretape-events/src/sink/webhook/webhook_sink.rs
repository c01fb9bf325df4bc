//! The sink: passes events to the spool, which calls the client.

use super::client::Client;
use super::options::{WebhookError, WebhookOptions};
use crate::sink::spool::{Spool, SpoolFigures};
use crate::sink::{Signal, SignalBody, Sink, SinkError};
use std::sync::Arc;
use std::time::Duration;

/// Sends events to a receiver over HTTP, each at least once. [How](super).
pub struct WebhookSink(Spool);

impl WebhookSink {
    /// Opens the spool, and starts sending what is in it.
    pub fn new(options: &WebhookOptions) -> Result<Self, WebhookError> {
        Ok(WebhookSink(Spool::open(&options.spool, Client::new(options)?)?))
    }

    /// The counters, which can be read from any thread.
    pub fn figures(&self) -> Arc<SpoolFigures> {
        self.0.figures()
    }
}

impl Sink for WebhookSink {
    fn name(&self) -> &str {
        "webhook"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        for signal in signals {
            if let SignalBody::Event(event) = &signal.what {
                self.0.push(*event.id(), signal.json());
            }
        }
        self.0.commit()
    }

    fn wake_in(&self) -> Option<Duration> {
        self.0.wake_in()
    }

    fn held(&self) -> u64 {
        self.0.held()
    }

    fn wake(&mut self) -> Result<(), SinkError> {
        self.0.wake()
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.0.finish()
    }
}
