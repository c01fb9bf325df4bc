//! Captures of mcpsnoop: each line is an envelope around a message (`raw`), a line of standard error (`text`), or something
//! on the wire that is not JSON (`text` as well). Over HTTP it has a few headers, and the status of an answer.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Defect, Findings, Item, ItemContent};
use super::{Format, Sample, value_of};
use crate::format::{BodyNote, ExchangeNote, Head};
use crate::message::{Direction, Envelope, MessageKind};
use std::borrow::Cow;

pub(super) static MCPSNOOP: Format = Format {
    name: "mcpsnoop",
    aliases: &[],
    about: "captures of mcpsnoop",
    shape: Shape::Lines,
    transport: None,
    calls_only: false,
    many_sessions: false,
    recognize,
    read,
};

fn recognize(sample: &Sample<'_>) -> bool {
    sample.objects().any(|object| {
        let direction = object.get("direction").and_then(Value::string);
        matches!(direction.as_deref(), Some("c2s" | "s2c" | "stderr" | "meta"))
            && ["session_id", "server_label", "seq", "ts"].iter().all(|name| object.get(name).is_some())
    })
}

/// The members of an envelope.
#[derive(Default)]
struct Frame<'u> {
    label: Option<Cow<'u, str>>,
    seq: Option<i64>,
    at_ms: Option<i64>,
    direction: Option<Cow<'u, str>>,
    is_http: bool,
    raw: Option<Value<'u>>,
    text: Option<Cow<'u, [u8]>>,
    method: Option<Cow<'u, str>>,
    name: Option<Cow<'u, str>>,
    version: Option<Cow<'u, str>>,
    params: Option<Value<'u>>,
    truncated: bool,
    status: Option<u16>,
    challenge: Option<Cow<'u, str>>,
}

impl<'u> Frame<'u> {
    fn of(envelope: Value<'u>) -> Self {
        let mut frame = Frame::default();
        envelope.members(|name, value| match () {
            () if name.is("server_label") => frame.label = value.string().filter(|label| !label.is_empty()),
            () if name.is("seq") => frame.seq = value.integer(),
            () if name.is("ts") => frame.at_ms = value.time_ms(),
            () if name.is("direction") => frame.direction = value.string(),
            () if name.is("transport") => frame.is_http = value.string().as_deref() == Some("http"),
            () if name.is("raw") => frame.raw = Some(value),
            () if name.is("text") => frame.text = value.string_bytes(),
            () if name.is("mcp_method") => frame.method = value.string(),
            () if name.is("mcp_name") => frame.name = value.string(),
            () if name.is("mcp_protocol_version") => frame.version = value.string(),
            () if name.is("mcp_param_headers") => frame.params = Some(value),
            () if name.is("truncated") => frame.truncated = value.raw == b"true",
            () if name.is("status") => frame.status = value.integer().and_then(|n| u16::try_from(n).ok()),
            () if name.is("auth_challenge") => frame.challenge = value.string(),
            () => {}
        });
        frame
    }

    /// The payload on the wire, whether a message or not.
    fn payload(&self) -> Option<Cow<'u, [u8]>> {
        self.raw.map(|raw| Cow::Borrowed(raw.raw)).or_else(|| self.text.clone())
    }

    fn is_message(&self) -> bool {
        let is_message = |raw: Value<'_>| Envelope::scan(raw.raw).kind != MessageKind::NotJsonRpc;
        !self.truncated && self.raw.is_some_and(is_message)
    }

    /// The request's head, with the fields under the names of the protocol's headers.
    fn request_head(&self) -> Option<Head> {
        let fixed =
            [("mcp-method", &self.method), ("mcp-name", &self.name), ("mcp-protocol-version", &self.version)];
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in fixed {
            headers.extend(value.as_ref().map(|value| (name.to_owned(), value.clone().into_owned())));
        }
        if let Some(params) = self.params {
            params.elements(|param| {
                let part = |name| param.get(name).and_then(Value::string);
                if let (Some(name), Some(value)) = (part("name"), part("value")) {
                    headers.push((name.to_ascii_lowercase(), value.into_owned()));
                }
            });
        }
        (!headers.is_empty()).then(|| Head::headers(pairs(&headers)))
    }

    fn response_head(&self) -> Option<Head> {
        let challenge =
            self.challenge.iter().map(|value| ("www-authenticate", Cow::Owned(value.as_bytes().to_vec())));
        Some(Head::response(self.status?, "", challenge))
    }

    /// The HTTP context. `body` is the body of a response that is not a message.
    fn http(&self, body: Option<&BodyNote>) -> Option<Cow<'static, [u8]>> {
        let (request, response) = (self.request_head(), self.response_head());
        if request.is_none() && response.is_none() {
            return None;
        }
        let note = ExchangeNote {
            // The source doesn't link responses to requests, so every line is an exchange of its own.
            x: self.seq.and_then(|seq| u64::try_from(seq).ok()).unwrap_or_default(),
            request: request.as_ref().map(Head::view),
            response: response.as_ref().map(Head::view),
            response_body: body.map(Cow::Borrowed),
            ..ExchangeNote::default()
        };
        let mut json = Vec::new();
        note.encode(&mut json);
        Some(Cow::Owned(json))
    }
}

fn pairs(headers: &[(String, String)]) -> impl Iterator<Item = (&str, Cow<'_, [u8]>)> {
    headers.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_bytes())))
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some(value) = value_of(unit, findings) else { return };
    let mut frame = Frame::of(value);
    let empty = Item {
        at_ms: frame.at_ms,
        server: frame.label.take(),
        http: None,
        ..Item::new(unit.line, ItemContent::FreshIds)
    };
    let mut push = |what, http| findings.items.push(Item { http, what, ..empty.clone() });
    let from = match frame.direction.as_deref() {
        // The command that starts the server: a session begins.
        Some("meta") => return push(ItemContent::FreshIds, None),
        Some("stderr") => {
            return push(ItemContent::Stderr { text: frame.text.unwrap_or_default() }, None);
        }
        Some("c2s") => Direction::ClientToServer,
        Some("s2c") => Direction::ServerToClient,
        _ => {
            findings.flaw(unit.line, Defect::Unexpected { expected: "an envelope with a `direction`" });
            return;
        }
    };
    // Several clients may use one proxy, and each counts its ids from 1.
    if frame.is_http && from == Direction::ClientToServer {
        push(ItemContent::FreshIds, None);
    }
    let is_refusal = frame.status.is_some_and(|status| status >= 400);
    match frame.payload() {
        Some(raw) if frame.is_message() => {
            push(ItemContent::Message { from: Some(from), raw }, frame.http(None));
        }
        Some(text) if is_refusal => {
            let body = BodyNote {
                bytes: text.len() as u64,
                text: Some(String::from_utf8_lossy(&text).into_owned()),
                ..BodyNote::default()
            };
            push(ItemContent::Exchange, frame.http(Some(&body)));
        }
        Some(text) => push(ItemContent::Text { from, text }, frame.http(None)),
        None => push(ItemContent::Exchange, frame.http(None)),
    }
    if frame.truncated {
        findings.flaw(unit.line, Defect::Shortened);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::told;
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let told = told(&MCPSNOOP, input, |item| {
            let what = match &item.what {
                ItemContent::Message { from, raw } => format!("{from:?} {}", String::from_utf8_lossy(raw)),
                ItemContent::Text { from, text } => {
                    format!("{from:?} text {}", String::from_utf8_lossy(text))
                }
                ItemContent::Stderr { text } => format!("stderr {}", String::from_utf8_lossy(text)),
                other => format!("{other:?}"),
            };
            let http = item.http.as_ref().map(|http| format!(" {}", String::from_utf8_lossy(http)));
            let server = item.server.as_deref().unwrap_or_default();
            format!("{server} {:?} {what}{}", item.at_ms, http.unwrap_or_default())
        });
        assert_eq!(told, expected);
    }

    /// An envelope with these members at its end.
    fn envelope(rest: &str) -> String {
        format!(
            r#"{{"session_id":"demo-1-ab","server_label":"demo","seq":4,"ts":"1970-01-01T01:00:01.5+01:00",{rest}}}"#
        )
    }

    #[test]
    fn messages_and_standard_error_are_taken_as_they_stand() {
        check(
            &envelope(
                r#""direction":"c2s","transport":"stdio","raw":{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            ),
            &[r#"demo Some(1500) Some(ClientToServer) {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#],
        );
        check(
            &envelope(r#""direction":"stderr","transport":"stdio","text":"a \"warning\"""#),
            &[r#"demo Some(1500) stderr a "warning""#],
        );
        check(
            &envelope(r#""direction":"meta","transport":"stdio","raw":{"command":["node","x.js"]}"#),
            &["demo Some(1500) FreshIds"],
        );
        check(
            &envelope(r#""direction":"sideways","transport":"stdio""#),
            &["line 1: expected an envelope with a `direction`"],
        );
    }

    #[test]
    fn what_is_no_message_is_text() {
        check(
            &envelope(r#""direction":"s2c","transport":"stdio","text":"ready""#),
            &["demo Some(1500) ServerToClient text ready"],
        );
        check(
            &envelope(r#""direction":"s2c","transport":"stdio","raw":{"level":"info"}"#),
            &[r#"demo Some(1500) ServerToClient text {"level":"info"}"#],
        );
        check(
            &envelope(r#""direction":"s2c","transport":"stdio","text":"{\"jsonrpc\":","truncated":true"#),
            &[
                r#"demo Some(1500) ServerToClient text {"jsonrpc":"#,
                "line 1: the message was truncated by the program that wrote it",
            ],
        );
    }

    #[test]
    fn headers_and_statuses_are_kept() {
        check(
            &envelope(
                r#""direction":"c2s","transport":"http","raw":{"jsonrpc":"2.0","id":1,"method":"tools/call"},"mcp_method":"tools/call","mcp_name":"find","mcp_param_headers":[{"name":"Mcp-Param-Region","value":"eu"}]"#,
            ),
            &[
                "demo Some(1500) FreshIds",
                r#"demo Some(1500) Some(ClientToServer) {"jsonrpc":"2.0","id":1,"method":"tools/call"} {"x":4,"request":{"headers":{"mcp-method":"tools/call","mcp-name":"find","mcp-param-region":"eu"}}}"#,
            ],
        );
        check(
            &envelope(
                r#""direction":"s2c","transport":"http","text":"no\n","status":401,"auth_challenge":"Bearer realm=\"x\"""#,
            ),
            &[
                r#"demo Some(1500) Exchange {"x":4,"response":{"status":401,"version":"","headers":{"www-authenticate":"Bearer realm=\"x\""}},"responseBody":{"bytes":3,"text":"no\n"}}"#,
            ],
        );
        check(
            &envelope(r#""direction":"s2c","transport":"http","status":202"#),
            &[r#"demo Some(1500) Exchange {"x":4,"response":{"status":202,"version":"","headers":{}}}"#],
        );
    }

    #[test]
    fn it_is_recognized() {
        let fixture = include_bytes!("../../../../../fixtures/import/mcpsnoop.jsonl");
        assert_eq!(super::super::detect(fixture).unwrap().name, "mcpsnoop");
    }
}
