//! Events to send, and a sink to send them with.

use crate::receiver::{LONG, Receiver};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_events::event::{
    ChangeType, EventIds, HeartbeatEvent, LoggedRequest, RequestEvent, SchemaEvent, SessionEvent, VERSION,
};
use wiretape_events::line::LineWhat;
use wiretape_events::raw::Raw;
use wiretape_events::sink::spool::SpoolOptions;
use wiretape_events::sink::webhook::{WebhookOptions, WebhookSink};
use wiretape_events::{Event, Line, Signal, Sink, SinkError};

/// Makes events.
#[derive(Default)]
pub(crate) struct Events(EventIds);

impl Events {
    /// Small ones, of all four kinds in turn.
    pub(crate) fn some(&self, number: usize) -> Vec<Arc<Signal>> {
        let kinds = [Self::request, Self::session, Self::schema, Self::heartbeat];
        kinds.iter().cycle().take(number).map(|kind| Arc::new(Signal::event(kind(self)))).collect()
    }

    /// With this text.
    pub(crate) fn with_text(&self, text: &str) -> Arc<Signal> {
        self.with_message(&format!(r#"{{"text":"{text}"}}"#))
    }

    /// With this message.
    pub(crate) fn with_message(&self, message: &str) -> Arc<Signal> {
        Arc::new(Signal::event(self.request_with(message)))
    }

    fn request(&self) -> Event {
        self.request_with("{}")
    }

    fn request_with(&self, message: &str) -> Event {
        Event::Request(Box::new(RequestEvent {
            v: VERSION,
            event_id: self.0.next(),
            request_id: "1".into(),
            ts: 0,
            request: LoggedRequest::Mcp {
                method: "POST".into(),
                path: "/mcp".into(),
                mcp_method: "tools/call".into(),
                tool: Some("search".into()),
                parts: None,
                message: Raw::from(message.as_bytes().to_vec()),
            },
            response: None,
            latency_us: 1,
            call_us: 1,
            upstream_us: 1,
            spans: Vec::new(),
            openai: None,
            started_at: 0,
            first_byte_us: None,
            status: wiretape_analyze::call::Outcome::Ok,
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

    fn session(&self) -> Event {
        Event::Session(SessionEvent {
            v: VERSION,
            event_id: self.0.next(),
            ts: 0,
            started_at: 0,
            session_id: "s".into(),
            client_name: None,
            client_version: None,
            client_platform: None,
            upstream: "server".into(),
            protocol_version: None,
            server_name: None,
            server_version: None,
            listener: "main".into(),
            trace: None,
        })
    }

    fn schema(&self) -> Event {
        Event::Schema(SchemaEvent {
            v: VERSION,
            event_id: self.0.next(),
            ts: 0,
            mcp_method: "tools/list",
            upstream: "server".into(),
            items: Vec::new(),
            change_type: ChangeType::Initial,
            session: None,
        })
    }

    fn heartbeat(&self) -> Event {
        Event::Heartbeat(HeartbeatEvent {
            v: VERSION,
            event_id: self.0.next(),
            ts: 0,
            mcp_status: "running",
            tunnel_status: "disabled",
            tunnel_address: None,
            upstream: "server".into(),
            export_port: 1,
            listener: "main".into(),
            requests: 0,
            uptime_s: 0,
            sinks: Vec::new(),
        })
    }
}

/// Text that compresses badly.
pub(crate) fn noise(bytes: usize) -> String {
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut letter = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        char::from(b'0' + (random >> 32) as u8 % 43)
    };
    (0..bytes).map(|_| letter()).collect()
}

pub(crate) fn a_line() -> Arc<Signal> {
    Arc::new(Signal::line(Line {
        ts: "2026-01-01T00:00:00.000Z".into(),
        what: LineWhat::SessionStart,
        session: "s".into(),
        upstream: "server".into(),
        csp_applied: false,
    }))
}

pub(crate) fn id(signal: &Signal) -> String {
    crate::receiver::id_in(std::str::from_utf8(signal.json()).unwrap())
}

pub(crate) fn ids(signals: &[Arc<Signal>]) -> Vec<String> {
    signals.iter().map(|signal| id(signal)).collect()
}

/// Ten events to a batch, short pauses, and as much time at the end as it takes.
pub(crate) fn options(url: impl Into<String>, spool: &Path) -> WebhookOptions {
    let spool = SpoolOptions {
        batch_events: 10,
        batch_time: LONG,
        timeout: LONG,
        backoff_base: Duration::from_millis(1),
        backoff_cap: Duration::from_millis(20),
        shutdown: LONG,
        ..SpoolOptions::new(spool)
    };
    WebhookOptions { spool, ..WebhookOptions::new(url, "") }
}

/// A sink with these options, and changes to them.
pub(crate) fn sink_with(
    url: impl Into<String>,
    place: &Place,
    change: impl FnOnce(&mut SpoolOptions),
) -> WebhookSink {
    let mut options = options(url, &place.spool());
    change(&mut options.spool);
    WebhookSink::new(&options).unwrap()
}

/// A sink without a receiver, which gives up at once at shutdown.
pub(crate) fn unsent(place: &Place) -> WebhookSink {
    sink_with(url_of_nobody(), place, |spool| spool.shutdown = Duration::ZERO)
}

/// A directory for a spool, which isn't there yet.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn spool(&self) -> std::path::PathBuf {
        self.0.path().join("spool")
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The names of the segments that wait.
    pub(crate) fn segments(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.spool())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".ndjson.gz"))
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn sink_for(receiver: &Receiver, place: &Place) -> WebhookSink {
    WebhookSink::new(&options(receiver.url(), &place.spool())).unwrap()
}

/// An address without a listener yet. If loopback has more than one address, no other test uses the same.
pub(crate) fn nobody() -> SocketAddr {
    let [.., a, b] = std::process::id().to_be_bytes();
    let ip = if cfg!(target_os = "linux") { [127, a | 1, b, 2] } else { [127, 0, 0, 1] };
    TcpListener::bind(SocketAddr::from((ip, 0))).unwrap().local_addr().unwrap()
}

/// An address that never has a listener.
pub(crate) fn url_of_nobody() -> String {
    "http://127.0.0.1:1/".to_owned()
}

/// What the sink says next.
pub(crate) fn wait_for_trouble(sink: &mut WebhookSink) -> SinkError {
    let end = Instant::now() + LONG;
    loop {
        if let Err(error) = sink.wake() {
            return error;
        }
        assert!(Instant::now() < end, "nothing is told");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What the sink says when it is given this, or next.
pub(crate) fn trouble_with(sink: &mut WebhookSink, signals: &[Arc<Signal>]) -> SinkError {
    sink.take(signals).err().unwrap_or_else(|| wait_for_trouble(sink))
}

/// What the sink says from here to its end.
pub(crate) fn troubles_to_the_end(sink: &mut WebhookSink, signals: &[Arc<Signal>]) -> SinkError {
    let told: Vec<SinkError> =
        [sink.take(signals), sink.finish()].into_iter().filter_map(Result::err).collect();
    SinkError {
        message: told.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("\n"),
        lost: told.iter().map(|error| error.lost).sum(),
    }
}

/// Leaves events in the spool, as a run without a receiver does.
pub(crate) fn leave_in_spool(place: &Place, signals: &[Arc<Signal>]) {
    let mut sink = unsent(place);
    let _ = sink.take(signals);
    let error = sink.finish().unwrap_err();
    assert_eq!(error.lost, 0);
    let expected =
        format!("{} unsent events remain in {}", sink.figures().pending(), place.spool().display());
    assert!(error.message.contains(&expected), "{}", error.message);
}
