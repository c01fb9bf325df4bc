//! `streamable-http` and `http-sse`: the canonical envelope of transcripts over HTTP.

use super::json::{raw, string};
use super::{ExportFormat, Exporter, Survey};
use crate::reading::RecordingState;
use std::io::{self, Write};
use wiretape_trace::format::{HttpContext, Line, Message, Record, Stamp};
use wiretape_trace::message::{Direction, Envelope, MessageKind, payloads};
use wiretape_trace::value::Value;

pub(super) static STREAMABLE_HTTP: ExportFormat = ExportFormat {
    name: "streamable-http",
    about: "the canonical envelope of streamable HTTP",
    make: |_, survey| Box::new(Envelopes::new(Transport::StreamableHttp, survey)),
};

pub(super) static HTTP_SSE: ExportFormat = ExportFormat {
    name: "http-sse",
    about: "the canonical envelope of the older HTTP+SSE",
    make: |_, survey| Box::new(Envelopes::new(Transport::HttpSse, survey)),
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    StreamableHttp,
    HttpSse,
}

struct Envelopes {
    transport: Transport,
    source: String,
    context: Option<String>,
    entries: u64,
}

impl Envelopes {
    fn new(transport: Transport, survey: &Survey) -> Self {
        Envelopes { transport, source: survey.words(), context: survey.context.clone(), entries: 0 }
    }

    fn message(&mut self, message: &Message<'_>, out: &mut dyn Write) -> io::Result<()> {
        let http = message.http.map(HttpContext::parse);
        // If the sender is unknown, the server is more likely: clients' logs have no such lines.
        let from = message.dir.known().unwrap_or(Direction::ServerToClient);
        for payload in payloads(message.raw) {
            let slot = self.slot(from, payload, http.as_ref());
            self.entry(&message.stamp, message.http, &slot, out)?;
        }
        Ok(())
    }

    /// The one of three members that an entry has.
    fn slot(&self, from: Direction, payload: &[u8], http: Option<&HttpContext>) -> String {
        let sse = http.and_then(|http| http.sse.as_ref());
        let is_response = Envelope::scan(payload).kind == MessageKind::Response;
        if from == Direction::ClientToServer {
            return format!("\"request\":{}", raw(payload));
        }
        // HTTP+SSE (2024-11-05) sends every server message on the event stream, responses included.
        if self.transport == Transport::StreamableHttp && sse.is_none() && is_response {
            return format!("\"response\":{}", raw(payload));
        }
        let id = sse.and_then(|sse| sse.id.as_deref()).map(|id| format!("\"id\":{},", string(id)));
        format!("\"sse\":{{\"event\":\"message\",{}\"data\":{}}}", id.unwrap_or_default(), raw(payload))
    }

    fn entry(
        &mut self,
        stamp: &Stamp<'_>,
        http: Option<&[u8]>,
        slot: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let comma = if self.entries > 0 { "," } else { "" };
        self.entries += 1;
        let time = stamp.wall_ms().map(|ms| format!("\"timestamp_ms\":{ms},")).unwrap_or_default();
        let context = http.and_then(context).map(|context| format!("\"transport_context\":{context},"));
        write!(out, "{comma}\n    {{{time}{}{slot}}}", context.unwrap_or_default())
    }
}

/// The transport context: that of the imported source, or the heads of the exchange.
fn context(http: &[u8]) -> Option<String> {
    let own = Value::parse(http).ok().and_then(|http| http.get("context"));
    // An imported context is written back as it was, so that importing and exporting a transcript changes nothing.
    if let Some(own) = own {
        return Some(raw(own.raw).into_owned());
    }
    let http = HttpContext::parse(http);
    if let Some(response) = &http.response {
        return Some(
            serde_json::json!({ "status": response.status, "headers": response.headers }).to_string(),
        );
    }
    let request = http.request.as_ref()?;
    let head =
        serde_json::json!({ "method": request.method, "target": request.target, "headers": request.headers });
    Some(head.to_string())
}

impl Exporter for Envelopes {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let transport = match self.transport {
            Transport::StreamableHttp => "streamable-http",
            Transport::HttpSse => "http-sse",
        };
        let context = self.context.as_ref().map(|context| format!("  \"transport_context\": {context},\n"));
        write!(
            out,
            "{{\n  \"transport\": \"{transport}\",\n  \"source\": {},\n{}  \"entries\": [",
            string(&self.source),
            context.unwrap_or_default()
        )
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        match &line.record {
            Record::Message(message) => self.message(message, out),
            // A response without a message, most often a 401.
            Record::Http(exchange) => {
                let http = HttpContext::parse(exchange.http);
                let refused = http.response.as_ref().is_some_and(|response| response.status >= 400);
                if refused {
                    self.entry(&exchange.stamp, Some(exchange.http), "\"response\":null", out)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, _: RecordingState, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n  ]\n}}")
    }
}
