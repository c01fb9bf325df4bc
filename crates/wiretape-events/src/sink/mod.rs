//! Sinks: where events go. The bus calls them, each on its own thread; the store's sink lives with the store.

mod metrics;
mod ndjson;
pub mod spool;
mod stderr;
pub mod webhook;

pub use metrics::{Exposition, MetricsSink, RequestMetrics};
pub use ndjson::NdjsonSink;
pub use stderr::{EventFormat, Servers, StderrSink};

use crate::event::Event;
use crate::line::Line;
use bytes::Bytes;
use std::sync::OnceLock;
use std::time::Duration;

/// What sinks receive: an event or a line, with its JSON.
#[derive(Debug)]
pub struct Signal {
    /// The event or line itself, for sinks that don't need JSON.
    pub what: SignalBody,
    json: OnceLock<Bytes>,
}

/// The content of a signal. Sinks choose: the webhook sends only events, NDJSON only lines.
#[derive(Debug)]
pub enum SignalBody {
    /// One of the four events.
    Event(Event),
    /// A line of `--events`.
    Line(Line),
}

impl Signal {
    /// Wraps an event; it is serialized when a sink first needs it.
    pub fn event(event: Event) -> Self {
        Signal { what: SignalBody::Event(event), json: OnceLock::new() }
    }

    /// Wraps a line; it is serialized when a sink first needs it.
    pub fn line(line: Line) -> Self {
        Signal { what: SignalBody::Line(line), json: OnceLock::new() }
    }

    /// Appends the signal as one line of JSON, without a newline. For a sink that copies it anyway: a line that no other
    /// sink has serialized is not kept.
    pub fn append_json(&self, out: &mut Vec<u8>) {
        match (&self.what, self.json.get()) {
            // Serialization to memory can't fail, see below.
            (SignalBody::Line(line), None) => serde_json::to_writer(out, line).unwrap_or_default(),
            _ => out.extend_from_slice(self.json()),
        }
    }

    /// The signal as one line of JSON, without a newline: serialized when the first sink needs it, and shared
    /// by all.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let json = match &self.what {
                SignalBody::Event(event) => serde_json::to_vec(event),
                SignalBody::Line(line) => serde_json::to_vec(line),
            };
            // Numbers, strings and JSON that was validated on arrival: serialization to memory can't fail.
            Bytes::from(json.unwrap_or_default())
        })
    }
}

/// Consumes what a proxy reports. Each sink has its own thread, on which all methods are called. A slow sink
/// holds up nothing but itself; what it can't keep up with is dropped and counted.
///
/// To write your own sink, implement this trait. Pick the signals you want, and return a [`SinkError`] when
/// something is lost:
///
/// ```
/// use std::sync::Arc;
/// use wiretape_events::sink::SignalBody;
/// use wiretape_events::{Event, Signal, Sink, SinkError};
///
/// /// Counts the sessions.
/// #[derive(Default)]
/// struct Sessions(u64);
///
/// impl Sink for Sessions {
///     fn name(&self) -> &str {
///         "sessions"
///     }
///
///     fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
///         let is_session = |signal: &&Arc<Signal>| matches!(signal.what, SignalBody::Event(Event::Session(_)));
///         self.0 += signals.iter().filter(is_session).count() as u64;
///         Ok(())
///     }
/// }
///
/// let mut sink = Sessions::default();
/// sink.take(&[])?;
/// sink.finish()?;
/// # Ok::<(), SinkError>(())
/// ```
///
/// `examples/custom_sink.rs` is a larger example that also reports periodically.
pub trait Sink: Send {
    /// The sink's name in metrics, `/status` and warnings.
    fn name(&self) -> &str;

    /// Consumes the signals that have gathered, in order.
    fn take(&mut self, signals: &[std::sync::Arc<Signal>]) -> Result<(), SinkError>;

    /// How soon [`wake`](Sink::wake) is to be called if no signal arrives before; `None` means never.
    fn wake_in(&self) -> Option<Duration> {
        None
    }

    /// Called when the time of [`wake_in`](Sink::wake_in) has passed without a signal.
    fn wake(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// How many signals the sink has accepted but not completed, for `/status`.
    fn held(&self) -> u64 {
        0
    }

    /// Called once at shutdown, after the last signal: flushes what is buffered.
    fn finish(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// A sink failed. The bus reports it, and keeps passing signals to the sink.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SinkError {
    /// What is wrong, for the user, and without secrets. Empty to count losses without another warning.
    pub message: String,
    /// How many signals were lost.
    pub lost: u64,
}
