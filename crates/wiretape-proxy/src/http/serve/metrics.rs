//! The proxy's own counters: as JSON for the status page, and as metrics.

use crate::http::record::traces::{LineCounts, SessionTraces};
use crate::http::relay::context::RelayContext;
use std::sync::atomic::{AtomicU64, Ordering};
use wiretape_events::Ended;
use wiretape_events::event::SinkStatus;
use wiretape_events::sink::Exposition;

/// The counters as JSON, for the admin's status page.
pub(crate) fn status(context: &RelayContext) -> serde_json::Value {
    let (connections, exchanges) = (context.connections(), &context.recorder.counters.exchanges);
    let traces = context.recorder.traces.as_ref();
    let ended: serde_json::Map<_, _> =
        Ended::ALL.iter().map(|ended| (ended.name().to_owned(), exchanges.ended(*ended).into())).collect();
    serde_json::json!({
        "connections": connections.open(),
        "connectionsTurnedAway": connections.turned_away(),
        "exchanges": exchanges.begun(),
        "ended": ended,
        "malformed": connections.malformed(),
        "draining": context.is_draining(),
        "traces": {
            "open": traces.map_or(0, SessionTraces::open),
            "lostLines": traces.map_or(0, SessionTraces::lost),
        },
        "sinks": sinks(context),
    })
}

/// The state of the sinks and of the bus that feeds them.
fn sinks(context: &RelayContext) -> Vec<SinkStatus> {
    context.recorder.sink.as_ref().map(|sink| sink.status()).unwrap_or_default()
}

/// Writes the proxy's own counters in the Prometheus text format.
pub(crate) fn write(context: &RelayContext, out: &mut Exposition) {
    let (connections, exchanges) = (context.connections(), &context.recorder.counters.exchanges);
    out.family("wiretape_connections", "gauge", "Open client connections.");
    out.sample("wiretape_connections", &[], connections.open());
    out.family(
        "wiretape_connections_turned_away_total",
        "counter",
        "Client connections beyond --max-connections.",
    );
    out.sample("wiretape_connections_turned_away_total", &[], connections.turned_away());
    out.family(
        "wiretape_exchanges_total",
        "counter",
        "HTTP exchanges by how they ended. A client may close its connection after a successful response: for errors use wiretape_requests_total.",
    );
    for ended in Ended::ALL {
        out.sample("wiretape_exchanges_total", &[("ended", ended.name())], exchanges.ended(ended));
    }
    write_load_metrics(context, out);
    write_trace_metrics(context, out);
    write_sink_metrics(context, out);
}

fn write_load_metrics(context: &RelayContext, out: &mut Exposition) {
    let exchanges = &context.recorder.counters.exchanges;
    let mut gauge = |name: &str, help: &str, value: usize| {
        out.family(name, "gauge", help);
        out.sample(name, &[], value);
    };
    let in_flight = "Requests without a response so far, except streams.";
    gauge("wiretape_requests_in_flight", in_flight, exchanges.requests_in_flight());
    let streams = "Open streams, such as those opened by GET.";
    gauge("wiretape_streams", streams, exchanges.open_streams());
    let largest = "The value of --max-connections.";
    gauge("wiretape_connections_limit", largest, context.limits.connections);
}

fn write_trace_metrics(context: &RelayContext, out: &mut Exposition) {
    let traces = context.recorder.traces.as_ref();
    let zero = LineCounts::default();
    let counts = traces.map_or(&zero, SessionTraces::counts);
    let mut counter = |name: &str, help: &str, value: &AtomicU64| {
        out.family(name, "counter", help);
        out.sample(name, &[], value.load(Ordering::Relaxed));
    };
    counter("wiretape_trace_lines_total", "Lines that were written to traces.", &counts.written);
    counter("wiretape_trace_bytes_total", "Bytes that were written to traces.", &counts.bytes);
    let lost = "Lines that could not be written to traces.";
    counter("wiretape_trace_lines_lost_total", lost, &counts.lost);
    let refused = "Traces not started because clients on other machines started too many.";
    counter("wiretape_traces_refused_total", refused, &counts.refused);
    out.family("wiretape_traces_open", "gauge", "Traces that are being written.");
    out.sample("wiretape_traces_open", &[], traces.map_or(0, SessionTraces::open));
}

fn write_sink_metrics(context: &RelayContext, out: &mut Exposition) {
    let sinks = sinks(context);
    let mut each = |name: &str, kind: &str, help: &str, read: fn(&SinkStatus) -> u64| {
        out.family(name, kind, help);
        sinks.iter().for_each(|sink| out.sample(name, &[("sink", &sink.name)], read(sink)));
    };
    let taken = "Accepted by each sink: exchanges (bus), or events and lines of --events (other sinks).";
    each("wiretape_events_taken_total", "counter", taken, |sink| sink.taken);
    let dropped = "Events dropped by each sink, or before they reached it.";
    each("wiretape_events_dropped_total", "counter", dropped, |sink| sink.dropped);
    each("wiretape_events_queued", "gauge", "Queued for each sink.", |sink| sink.queued);
}
