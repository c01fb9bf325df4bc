//! Where events go.

mod metrics;
mod ndjson;
mod stderr;
pub mod webhook;

pub use metrics::{Exposition, MetricsSink, RequestMetrics};
pub use ndjson::NdjsonSink;
pub use stderr::{Look, Servers, StderrSink};

use crate::event::Event;
use crate::line::Line;
use bytes::Bytes;
use std::sync::OnceLock;
use std::time::Duration;

/// Something to tell, as sinks are given it.
#[derive(Debug)]
pub struct Signal {
    /// What it is.
    pub what: What,
    json: OnceLock<Bytes>,
}

/// What a signal is.
#[derive(Debug)]
pub enum What {
    /// One of the four events.
    Event(Event),
    /// A line of `--events`.
    Line(Line),
}

impl Signal {
    /// An event.
    pub fn event(event: Event) -> Self {
        Signal { what: What::Event(event), json: OnceLock::new() }
    }

    /// A line.
    pub fn line(line: Line) -> Self {
        Signal { what: What::Line(line), json: OnceLock::new() }
    }

    /// As JSON on one line, without its end: the same bytes for every sink, made when the first one asks.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let json = match &self.what {
                What::Event(event) => serde_json::to_vec(event),
                What::Line(line) => serde_json::to_vec(line),
            };
            // Numbers, strings and JSON that was checked: there is nothing that could not be written.
            Bytes::from(json.unwrap_or_default())
        })
    }
}

/// Takes what a proxy tells. Each sink has a thread of its own, on which all of this is called; a sink that takes long
/// keeps nobody waiting, but what it can't follow is dropped and counted.
///
/// A sink of your own is a type that implements this. It picks what it wants, and answers with a [`SinkError`] when
/// something is lost:
///
/// ```
/// use std::sync::Arc;
/// use wiretape_events::sink::What;
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
///         let is_session = |signal: &&Arc<Signal>| matches!(signal.what, What::Event(Event::Session(_)));
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
/// `examples/custom_sink.rs` is a larger one, which also reports now and then.
pub trait Sink: Send {
    /// What it is called, in figures and warnings.
    fn name(&self) -> &str;

    /// Takes what has come, in order.
    fn take(&mut self, signals: &[std::sync::Arc<Signal>]) -> Result<(), SinkError>;

    /// How soon [`wake`](Sink::wake) is to be called if nothing comes before; never, if that is `None`.
    fn wake_in(&self) -> Option<Duration> {
        None
    }

    /// The time has come that [`wake_in`](Sink::wake_in) asked for.
    fn wake(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// How much it has taken and not brought to its end yet, for the figures.
    fn held(&self) -> u64 {
        0
    }

    /// Nothing more will come: what is held back goes where it belongs.
    fn finish(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// A sink has trouble. It goes on all the same, and is given what comes next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SinkError {
    /// What is wrong, for the user, and without secrets.
    pub message: String,
    /// How many signals are lost by that.
    pub lost: u64,
}
