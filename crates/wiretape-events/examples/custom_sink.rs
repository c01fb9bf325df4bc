//! A sink of your own: counts how often each tool fails, and reports now and then.
//!
//! ```console
//! $ cargo run -p wiretape-events --example custom_sink
//! search: 2 of 3 calls failed
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_events::event::{EventIds, LoggedRequest, RequestEvent, VERSION};
use wiretape_events::raw::Raw;
use wiretape_events::sink::SignalBody;
use wiretape_events::{Event, Outcome, Signal, Sink, SinkError};

/// How long to collect before a report.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Counts how often each tool fails.
struct ErrorsPerTool<W> {
    output: W,
    tools: BTreeMap<Arc<str>, Count>,
    /// When there has been something new since, the time of the next report.
    next_report: Option<Instant>,
}

#[derive(Default)]
struct Count {
    calls: u64,
    errors: u64,
}

impl<W: Write> ErrorsPerTool<W> {
    fn new(output: W) -> Self {
        ErrorsPerTool { output, tools: BTreeMap::new(), next_report: None }
    }

    fn count(&mut self, event: &RequestEvent) {
        let LoggedRequest::Mcp { tool: Some(tool), .. } = &event.request else { return };
        let count = self.tools.entry(Arc::clone(tool)).or_default();
        count.calls += 1;
        count.errors += u64::from(event.status.is_error());
        self.next_report.get_or_insert_with(|| Instant::now() + REPORT_EVERY);
    }

    /// Nothing is lost if this fails: the counts are kept, and the user sees why there is no report.
    fn report(&mut self) -> Result<(), SinkError> {
        self.next_report = None;
        self.write_report()
            .map_err(|error| SinkError { message: format!("the report can't be written: {error}"), lost: 0 })
    }

    fn write_report(&mut self) -> io::Result<()> {
        for (tool, count) in self.tools.iter().filter(|(_, count)| count.errors > 0) {
            writeln!(self.output, "{tool}: {} of {} calls failed", count.errors, count.calls)?;
        }
        self.output.flush()
    }
}

impl<W: Write + Send> Sink for ErrorsPerTool<W> {
    fn name(&self) -> &str {
        "errors-per-tool"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        for signal in signals {
            if let SignalBody::Event(Event::Request(event)) = &signal.what {
                self.count(event);
            }
        }
        // Under constant load, `wake` is never called.
        match self.wake_in() {
            Some(Duration::ZERO) => self.report(),
            _ => Ok(()),
        }
    }

    fn wake_in(&self) -> Option<Duration> {
        self.next_report.map(|time| time.saturating_duration_since(Instant::now()))
    }

    fn wake(&mut self) -> Result<(), SinkError> {
        self.report()
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.report()
    }
}

/// A proxy calls the sink on a thread of its own; here it is called by hand.
fn main() -> Result<(), SinkError> {
    feed(ErrorsPerTool::new(io::stdout()))
}

fn feed(mut sink: impl Sink) -> Result<(), SinkError> {
    let ids = EventIds::new();
    let calls = [
        ("search", Outcome::Ok),
        ("search", Outcome::ToolError),
        ("search", Outcome::TimedOut),
        ("add", Outcome::Ok),
    ];
    let signals = calls.map(|(tool, status)| Arc::new(Signal::event(call(&ids, tool, status))));
    sink.take(&signals)?;
    sink.finish()
}

/// A call as a proxy would tell of it.
fn call(ids: &EventIds, tool: &str, status: Outcome) -> Event {
    Event::Request(Box::new(RequestEvent {
        v: VERSION,
        event_id: ids.next(),
        request_id: "1".to_owned(),
        ts: 1_700_000_000_000,
        request: LoggedRequest::Mcp {
            method: "POST".into(),
            path: "/mcp".to_owned(),
            mcp_method: "tools/call".into(),
            tool: Some(tool.into()),
            parts: None,
            message: Raw::from(b"{}".to_vec()),
        },
        response: None,
        latency_us: 1500,
        call_us: 1450,
        upstream_us: 1400,
        spans: Vec::new(),
        openai: None,
        started_at: 1_700_000_000_000,
        first_byte_us: None,
        status,
        error_code: None,
        error_message: None,
        request_bytes: 2,
        response_bytes: 0,
        session: None,
        protocol_version: None,
        listener: "main".into(),
        upstream: "server".into(),
        csp_applied: false,
        trace: None,
    }))
}

#[test]
fn tools_that_fail_are_reported() {
    let mut report = Vec::new();
    feed(ErrorsPerTool::new(&mut report)).unwrap();
    assert_eq!(String::from_utf8(report).unwrap(), "search: 2 of 3 calls failed\n");
}
