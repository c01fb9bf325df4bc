//! Made-up exchanges, and the signals they produce.
#![allow(dead_code, reason = "not every test needs everything")]

use bytes::Bytes;
use jsonschema::Validator;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::event::EventIds;
use wiretape_events::observe::{Observer, ObserverOptions};
use wiretape_events::sink::SignalBody;
use wiretape_events::{Ended, Signal, Streamed, Timings, Transaction, Violation, schema};
use wiretape_trace::format::{Head, Moment};

/// When all exchanges begin, in milliseconds since 1970.
pub(crate) const STARTED_MS: i64 = 1_712_050_530_142;

/// The signals of an observer.
pub(crate) struct Told {
    observer: Observer,
    signals: Vec<Signal>,
    events: Validator,
    lines: Validator,
}

impl Told {
    pub(crate) fn new() -> Self {
        Self::with_idle(Duration::from_secs(1800))
    }

    pub(crate) fn with_idle(session_idle: Duration) -> Self {
        let options = ObserverOptions {
            lines: true,
            session_idle,
            snapshots: Vec::new(),
            ids: Arc::new(EventIds::new()),
        };
        Told {
            observer: Observer::new(options),
            signals: Vec::new(),
            events: jsonschema::validator_for(&schema::events()).unwrap(),
            lines: jsonschema::validator_for(&schema::lines()).unwrap(),
        }
    }

    pub(crate) fn observe(&mut self, transaction: Transaction) {
        self.observer.transaction(transaction, &mut self.signals);
    }

    pub(crate) fn stream(&mut self, session: &str, message: &str, at_us: u64) {
        let streamed = Streamed {
            upstream: "http://localhost:9000".into(),
            session: session.to_owned(),
            message: Bytes::from(message.to_owned()),
            at: Moment { wall_ms: STARTED_MS, us: at_us },
        };
        self.observer.streamed(streamed, &mut self.signals);
    }

    pub(crate) fn violate(&mut self, blocked_uri: &str, directive: &str) {
        let violation = Violation {
            blocked_uri: blocked_uri.to_owned(),
            directive: directive.to_owned(),
            session: None,
            upstream: "http://localhost:9000".into(),
        };
        self.observer.violation(violation, &mut self.signals);
    }

    /// Looks for what has expired after this time.
    pub(crate) fn look(&mut self, after: Duration) {
        let us = u64::try_from(after.as_micros()).unwrap();
        self.observer.at(Moment { wall_ms: STARTED_MS, us });
        self.observer.look(&mut self.signals);
    }

    pub(crate) fn finish(&mut self) {
        self.observer.finish(&mut self.signals);
    }

    /// The events of one type, each of which is what the schema says.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.told(&self.events, kind, |what| matches!(what, SignalBody::Event(_)))
    }

    /// The lines of one type, each of which is what the schema says.
    pub(crate) fn lines(&self, kind: &str) -> Vec<Value> {
        self.told(&self.lines, kind, |what| matches!(what, SignalBody::Line(_)))
    }

    fn told(&self, schema: &Validator, kind: &str, is: fn(&SignalBody) -> bool) -> Vec<Value> {
        let signals = self.signals.iter().filter(|signal| is(&signal.what));
        let values = signals.map(|signal| serde_json::from_slice::<Value>(signal.json()).unwrap());
        let values = values.inspect(|value| {
            let errors: Vec<_> = schema.iter_errors(value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{value:#}: {errors:?}");
        });
        values.filter(|value| value["type"] == kind).collect()
    }
}

/// An exchange; without a response if that is empty.
pub(crate) fn transaction(request: &str, response: &str) -> Transaction {
    let bytes = |text: &str| (!text.is_empty()).then(|| Bytes::from(text.to_owned()));
    let accept = [("accept", Cow::Borrowed(&b"application/json"[..]))];
    Transaction {
        x: 1,
        listener: Some("demo".into()),
        client: Some(([127, 0, 0, 1], 5000).into()),
        connection: Some(1),
        upstream: "http://localhost:9000".into(),
        session: None,
        protocol_version: None,
        user: None,
        method: "POST".into(),
        target: "/mcp".to_owned(),
        request_head: Some(Arc::new(Head::request("POST", "/mcp", "1.1", accept.into_iter()))),
        response_head: Some(head(200, "application/json")),
        status: Some(200),
        request: bytes(request),
        response: bytes(response),
        request_bytes: request.len() as u64,
        response_bytes: 60,
        is_resumable: false,
        is_html: false,
        csp_applied: false,
        trace: None,
        timings: Timings {
            started: Moment { wall_ms: STARTED_MS, us: 0 },
            asked_at: Some(50),
            answer_at: (!response.is_empty()).then_some(700),
            connected_us: Some(100),
            answered_us: Some(500),
            first_byte_us: Some(600),
            responded_us: Some(800),
            ended_us: 900,
        },
        ended: Ended::Complete,
        error: None,
    }
}

pub(crate) fn head(status: u16, content_type: &'static str) -> Arc<Head> {
    let pair = [("content-type", Cow::Borrowed(content_type.as_bytes()))];
    Arc::new(Head::response(status, "1.1", pair.into_iter()))
}

pub(crate) fn call(id: u64, tool: &str, response: &str) -> Transaction {
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#);
    transaction(&request, response)
}

pub(crate) fn answer(id: u64, member: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#)
}

pub(crate) fn initialize(session: &str) -> Transaction {
    let request = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"probe","version":"1.2","platform":"linux"}}}"#;
    let response =
        answer(0, r#""result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"demo","version":"3"}}"#);
    Transaction { session: Some(session.to_owned()), ..transaction(request, &response) }
}
