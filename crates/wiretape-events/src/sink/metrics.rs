//! Request metrics in the Prometheus text format, for `/metrics`.
//!
//! The label values come from clients, so their number has to be bounded: after [`MAX_SERIES`] combinations,
//! further ones are counted under `other`. Otherwise a client that invents method names would grow the
//! proxy's memory and the scraper's database.

use super::{Signal, SignalBody, Sink, SinkError};
use crate::event::{Event, LoggedRequest, RequestEvent, SessionEvent};
use crate::line::{Line, LineWhat};
use crate::server_name::server_name;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use wiretape_analyze::call::Outcome;

/// The maximum number of combinations of server, method and tool with series of their own.
const MAX_SERIES: usize = 1000;

/// The label value for everything beyond [`MAX_SERIES`].
const OTHER: &str = "other";

/// The upper bounds of the histograms' buckets, in microseconds, and in seconds as they are printed: those of OpenTelemetry's
/// `mcp.server.operation.duration` (semantic-conventions-genai), so that figures of both can be compared, and three smaller
/// ones, where local tools are.
const BUCKETS: [(u64, &str); 17] = [
    (1_000, "0.001"),
    (2_000, "0.002"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (20_000, "0.02"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (200_000, "0.2"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_000_000, "2"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (60_000_000, "60"),
    (120_000_000, "120"),
    (300_000_000, "300"),
];

/// The sink that counts requests and sessions.
pub struct MetricsSink {
    metrics: Arc<RequestMetrics>,
}

impl MetricsSink {
    /// Counts into `metrics`, which `/metrics` reads at the same time.
    pub fn new(metrics: Arc<RequestMetrics>) -> Self {
        MetricsSink { metrics }
    }
}

impl Sink for MetricsSink {
    fn name(&self) -> &str {
        "metrics"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        // Locked once per batch, not per signal; a scrape waits for at most one batch.
        let mut figures = self.metrics.0.lock();
        signals.iter().for_each(|signal| figures.count(signal));
        Ok(())
    }
}

/// The counters, shared by the sink and `/metrics`.
#[derive(Debug, Default)]
pub struct RequestMetrics(Mutex<Figures>);

#[derive(Debug, Default)]
struct Figures {
    series: BTreeMap<Name, Series>,
    sessions: BTreeMap<Arc<str>, SessionFigures>,
    /// The server of each open session. Bounded, because the observer limits the number of open sessions and
    /// ends the others.
    open: HashMap<(Arc<str>, Arc<str>), Arc<str>>,
}

/// The labels that identify a series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    server: Arc<str>,
    method: Arc<str>,
    tool: Arc<str>,
}

#[derive(Debug, Default)]
struct Series {
    statuses: [u64; Outcome::ALL.len()],
    latency: Histogram,
    upstream: Histogram,
}

#[derive(Debug, Default)]
struct Histogram {
    /// How many requests fall into each bucket. Not cumulative; the sums are computed when printing.
    buckets: [u64; BUCKETS.len()],
    measured: u64,
    sum_us: u64,
}

#[derive(Debug, Default)]
struct SessionFigures {
    started: u64,
    open: u64,
}

impl RequestMetrics {
    /// Appends all metrics to a page.
    pub fn write(&self, out: &mut Exposition) {
        let figures = self.0.lock();
        figures.write_requests(out);
        figures.write_durations(out);
        figures.write_sessions(out);
    }
}

impl Figures {
    fn count(&mut self, signal: &Signal) {
        match &signal.what {
            SignalBody::Event(Event::Request(event)) => self.request(event),
            SignalBody::Event(Event::Session(event)) => self.session(event),
            SignalBody::Event(Event::Schema(_) | Event::Heartbeat(_)) => {}
            SignalBody::Line(line) => self.line(line),
        }
    }

    fn request(&mut self, event: &RequestEvent) {
        match &event.request {
            LoggedRequest::Mcp { mcp_method, tool, .. } => {
                self.call(event, mcp_method, tool.as_ref(), event.status);
            }
            LoggedRequest::McpBatch { messages, .. } => {
                for message in messages {
                    self.call(event, &message.mcp_method, message.tool.as_ref(), message.status);
                }
            }
            // Only counted: the duration of a GET stream is how long its client stayed, and would distort the
            // histogram.
            LoggedRequest::Http { method, .. } => self.series(event, method, None).count(event.status),
        }
    }

    fn call(&mut self, event: &RequestEvent, method: &Arc<str>, tool: Option<&Arc<str>>, status: Outcome) {
        let series = self.series(event, method, tool);
        series.count(status);
        if is_measured(method) {
            series.latency.measure(event.latency_us);
            // 0 means that the server was not reached: it would look like a very fast one.
            if event.upstream_us > 0 {
                series.upstream.measure(event.upstream_us);
            }
        }
    }

    fn series(&mut self, event: &RequestEvent, method: &Arc<str>, tool: Option<&Arc<str>>) -> &mut Series {
        let mut name = Name {
            server: server_name(Some(&event.listener), &event.upstream).into(),
            method: Arc::clone(method),
            tool: tool.cloned().unwrap_or_default(),
        };
        if self.series.len() >= MAX_SERIES && !self.series.contains_key(&name) {
            name = Name { server: OTHER.into(), method: OTHER.into(), tool: OTHER.into() };
        }
        self.series.entry(name).or_default()
    }

    fn session(&mut self, event: &SessionEvent) {
        let mut server: Arc<str> = server_name(Some(&event.listener), &event.upstream).into();
        if self.sessions.len() >= MAX_SERIES && !self.sessions.contains_key(&server) {
            server = OTHER.into();
        }
        let figures = self.sessions.entry(Arc::clone(&server)).or_default();
        figures.started += 1;
        let key = (Arc::clone(&event.upstream), Arc::clone(&event.session_id));
        // A session whose end was missed may start again under the same id; it must not be counted as open
        // twice.
        if self.open.insert(key, server).is_none() {
            figures.open += 1;
        }
    }

    fn line(&mut self, line: &Line) {
        // The end of a session has a line but no event of its own, because the event schema has none.
        if !matches!(line.what, LineWhat::SessionEnd) {
            return;
        }
        let key = (Arc::clone(&line.upstream), Arc::clone(&line.session));
        if let Some(figures) = self.open.remove(&key).and_then(|server| self.sessions.get_mut(&server)) {
            figures.open -= 1;
        }
    }

    fn write_requests(&self, out: &mut Exposition) {
        out.family("wiretape_requests_total", "counter", "Completed requests, by outcome.");
        for (name, series) in &self.series {
            for (status, count) in Outcome::ALL.iter().zip(series.statuses).filter(|(_, count)| *count > 0) {
                let labels = [name.labels().as_slice(), &[("status", status.name())]].concat();
                out.sample("wiretape_requests_total", &labels, count);
            }
        }
    }

    fn write_durations(&self, out: &mut Exposition) {
        self.write_histogram(
            out,
            "wiretape_request_duration_seconds",
            "Time from a request to the end of its response; excludes streams and notifications.",
            |series| &series.latency,
        );
        self.write_histogram(
            out,
            "wiretape_upstream_duration_seconds",
            "The server's share of that time; excludes requests that did not reach the server.",
            |series| &series.upstream,
        );
    }

    fn write_histogram(&self, out: &mut Exposition, name: &str, help: &str, read: fn(&Series) -> &Histogram) {
        out.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let measured = self.series.iter().map(|(labels, series)| (labels, read(series)));
        for (labels, histogram) in measured.filter(|(_, histogram)| histogram.measured > 0) {
            let labels = labels.labels();
            let mut below = 0;
            for ((_, bound), count) in BUCKETS.iter().zip(histogram.buckets) {
                below += count;
                out.sample(&bucket, &[labels.as_slice(), &[("le", bound)]].concat(), below);
            }
            out.sample(&bucket, &[labels.as_slice(), &[("le", "+Inf")]].concat(), histogram.measured);
            out.sample(&format!("{name}_sum"), &labels, histogram.sum_us as f64 / 1e6);
            out.sample(&format!("{name}_count"), &labels, histogram.measured);
        }
    }

    fn write_sessions(&self, out: &mut Exposition) {
        out.family("wiretape_sessions", "gauge", "Open sessions.");
        for (server, figures) in &self.sessions {
            out.sample("wiretape_sessions", &[("server", server)], figures.open);
        }
        out.family("wiretape_sessions_started_total", "counter", "Started sessions.");
        for (server, figures) in &self.sessions {
            out.sample("wiretape_sessions_started_total", &[("server", server)], figures.started);
        }
    }
}

/// Whether the duration of a message is the time to its answer. Notifications have none, and
/// `subscriptions/listen` is a stream that stays open.
fn is_measured(method: &str) -> bool {
    !method.is_empty() && !method.starts_with("notifications/") && method != "subscriptions/listen"
}

impl Name {
    fn labels(&self) -> [(&str, &str); 3] {
        [("server", &self.server), ("method", &self.method), ("tool", &self.tool)]
    }
}

impl Series {
    fn count(&mut self, status: Outcome) {
        let at = Outcome::ALL.iter().position(|known| *known == status);
        if let Some(count) = at.and_then(|at| self.statuses.get_mut(at)) {
            *count += 1;
        }
    }
}

impl Histogram {
    fn measure(&mut self, us: u64) {
        self.measured += 1;
        self.sum_us = self.sum_us.saturating_add(us);
        if let Some(at) = BUCKETS.iter().position(|(bound, _)| us <= *bound) {
            self.buckets[at] += 1;
        }
    }
}

/// A page in the Prometheus text exposition format.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Starts a metric family: its `# HELP` and `# TYPE` lines. All of its samples have to follow before the
    /// next family.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a `String` can't fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Adds one sample line; label values are escaped here.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// The finished page, as sent to the scraper.
    pub fn into_text(self) -> String {
        self.0
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut out = Exposition::default();
        out.sample("x", &[("a", "b\"c\\\n")], 1);
        out.sample("y", &[], 0.5);
        assert_eq!(out.into_text(), "x{a=\"b\\\"c\\\\\\n\"} 1\ny 0.5\n");
    }

    #[test]
    fn a_bucket_holds_what_took_no_longer() {
        let mut histogram = Histogram::default();
        [1_000, 1_001, 301_000_000].into_iter().for_each(|us| histogram.measure(us));
        assert_eq!((histogram.buckets[0], histogram.buckets[1], histogram.measured), (1, 1, 3));
        assert_eq!((histogram.buckets.iter().sum::<u64>(), histogram.sum_us), (2, 301_002_001));
    }
}
