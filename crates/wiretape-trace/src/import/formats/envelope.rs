//! The envelope of transcripts over HTTP: a document with a `transport` and `entries`, each of which has a `request`, a
//! `response` or an `sse` event. The same envelope serves both transports.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Defect, Findings, Item, ItemContent};
use super::exchange::carried;
use super::jsonrpc::time_of;
use super::{Format, Sample, value_of};
use crate::format::{BodyNote, Head, SseContext};
use crate::message::{Direction, Envelope, MessageKind};
use std::borrow::Cow;

const ENTRIES: Shape = Shape::Document(&[&["entries"]]);

pub(super) static STREAMABLE_HTTP: Format = Format {
    name: "streamable-http",
    aliases: &[],
    about: "transcripts of streamable HTTP in the canonical envelope",
    shape: ENTRIES,
    transport: Some("http"),
    calls_only: false,
    many_sessions: false,
    recognize: |sample| recognize(sample, "streamable-http"),
    read: |unit, findings| read(unit, findings, "streamable-http"),
};

pub(super) static HTTP_SSE: Format = Format {
    name: "http-sse",
    aliases: &["sse-legacy"],
    about: "transcripts of the older HTTP+SSE in the canonical envelope",
    shape: ENTRIES,
    transport: Some("http"),
    calls_only: false,
    many_sessions: false,
    recognize: |sample| recognize(sample, "http-sse"),
    read: |unit, findings| read(unit, findings, "http-sse"),
};

fn recognize(sample: &Sample<'_>, transport: &str) -> bool {
    let mut named = None;
    let mut has_entries = false;
    // `transport` may come after the entries, beyond the sample; then the format has to be given.
    sample.each_unit(ENTRIES, |unit| match unit.member {
        Some("transport") => {
            named = Value::parse(unit.bytes).ok().and_then(Value::string).map(Cow::into_owned);
        }
        Some(_) => {}
        None => has_entries = true,
    });
    named.as_deref() == Some(transport) && (has_entries || sample.contains("\"entries\""))
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>, transport: &'static str) {
    let Some(value) = value_of(unit, findings) else { return };
    match unit.member {
        None => entry(unit, value, findings),
        // The envelope serves both transports, so the document has to name the one that it is read as.
        Some("transport") if value.string().as_deref() != Some(transport) => {
            findings.flaw(unit.line, Defect::Transport { expected: transport });
        }
        // Of the whole document: kept as an exchange of its own, because it belongs to no single entry.
        Some("transport_context" | "headers") => {
            let mut item = Item::new(unit.line, ItemContent::Exchange);
            let name = if unit.member == Some("headers") { "headers" } else { "context" };
            item.http = Some(Cow::Owned(object(&[(name, value.raw)])));
            findings.items.push(item);
        }
        Some("entries") => findings
            .flaw(unit.line, Defect::WrongDocument { expected: "an envelope: `entries` must be an array" }),
        Some(_) => {}
    }
}

/// The parts of an entry.
#[derive(Default)]
struct Entry<'a> {
    at_ms: Option<i64>,
    context: Option<Value<'a>>,
    headers: Option<Value<'a>>,
    slot: Option<(Slot, Value<'a>)>,
    /// The number of slots with a value; a duplicate counts twice.
    filled: usize,
    /// The number of slots that are null.
    nulls: usize,
}

/// The kind of an entry: it has exactly one of these members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Request,
    Response,
    Sse,
}

impl<'a> Entry<'a> {
    fn of(value: Value<'a>) -> Self {
        let mut entry = Entry::default();
        value.members(|name, value| {
            let slot = match () {
                () if name.is("request") => Slot::Request,
                () if name.is("response") => Slot::Response,
                () if name.is("sse") => Slot::Sse,
                () if name.is("transport_context") => return entry.context = Some(value),
                () if name.is("headers") => return entry.headers = Some(value),
                () if name.is("timestamp_ms") => return entry.at_ms = value.time_ms(),
                () => return,
            };
            entry.fill(slot, value);
        });
        entry
    }

    fn fill(&mut self, slot: Slot, value: Value<'a>) {
        if value.is_null() {
            self.nulls += 1;
            self.slot.get_or_insert((slot, value));
        } else {
            self.filled += 1;
            self.slot = Some((slot, value));
        }
    }

    /// The one slot of the entry. Serializers that don't omit nulls write the other slots too, so a null next
    /// to a value counts as absent; a null alone is a response without a body.
    fn only_slot(&self) -> Option<(Slot, Value<'a>)> {
        match (self.filled, self.nulls) {
            (1, _) | (0, 1) => self.slot,
            _ => None,
        }
    }

    /// The HTTP context of the line: the source's transport context, and `more` members.
    fn http(&self, more: &[(&str, &[u8])]) -> Option<Cow<'static, [u8]>> {
        let own = [("context", self.context), ("headers", self.headers)];
        let own = own.into_iter().filter_map(|(name, value)| Some((name, value?.raw)));
        let members: Vec<_> = own.chain(more.iter().copied()).collect();
        (!members.is_empty()).then(|| Cow::Owned(object(&members)))
    }

    /// Calls `each` for the headers, in all the places where transcripts have them.
    fn each_header(&self, mut each: impl FnMut(&str, &str)) {
        let context = self.context;
        let inner = context.and_then(|context| context.get("response"));
        // Real transcripts have all three; each name counts where it is found first.
        let places =
            [context.and_then(|c| c.get("headers")), inner.and_then(|r| r.get("headers")), self.headers];
        for headers in places.into_iter().flatten() {
            each_header(headers, &mut each);
        }
        // Some transcripts have these two next to the status.
        let is_known = |name: &str| {
            ["www-authenticate", "mcp-session-id"].iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        if let Some(context) = context {
            each_header(context, &mut |name, value| {
                if is_known(name) {
                    each(name, value);
                }
            });
        }
    }

    fn session(&self) -> Option<Cow<'a, str>> {
        let mut session = None;
        self.each_header(|name, value| {
            if name.eq_ignore_ascii_case("mcp-session-id") {
                session.get_or_insert_with(|| Cow::Owned(value.to_owned()));
            }
        });
        session
    }

    /// The head of the response, if its status is known.
    fn response_head(&self) -> Option<(u16, Head)> {
        let status = [self.context, self.headers].into_iter().flatten().find_map(status)?;
        let status = u16::try_from(status).ok()?;
        let mut headers: Vec<(String, String)> = Vec::new();
        self.each_header(|name, value| {
            let header = (name.to_ascii_lowercase(), value.to_owned());
            // The same header is often in two of the places.
            if !headers.contains(&header) {
                headers.push(header);
            }
        });
        // Equal names have to be adjacent for [`Head::response`].
        headers.sort_by(|(one, _), (other, _)| one.cmp(other));
        let pairs = headers.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_bytes())));
        Some((status, Head::response(status, "", pairs)))
    }
}

/// Calls `each` for the headers of an object (a value may be a list), or of a list of pairs.
fn each_header(headers: Value<'_>, each: &mut impl FnMut(&str, &str)) {
    headers.members(|name, value| {
        if let Some(text) = value.string() {
            each(&name.decode(), &text);
        }
        value.elements(|line| {
            if let Some(text) = line.string() {
                each(&name.decode(), &text);
            }
        });
    });
    headers.elements(|pair| {
        let mut both = Vec::new();
        pair.elements(|part| both.extend(part.string()));
        let of = |name: &str| pair.get(name).and_then(Value::string);
        match (of("name"), of("value"), &both[..]) {
            (Some(name), Some(value), _) => each(&name, &value),
            (_, _, [name, value]) => each(name, value),
            _ => {}
        }
    });
}

fn entry<'u>(unit: &Unit<'u>, value: Value<'u>, findings: &mut Findings<'u>) {
    if !value.is_object() {
        findings.flaw(unit.line, Defect::EntryShape);
        return;
    }
    let entry = Entry::of(value);
    match entry.only_slot() {
        Some((Slot::Request, request)) => message(unit, &entry, request, Direction::ClientToServer, findings),
        Some((Slot::Response, response)) => response_of(unit, &entry, response, findings),
        Some((Slot::Sse, sse)) => event(unit, &entry, sse, findings),
        None => findings.flaw(unit.line, Defect::EntryShape),
    }
}

/// Builds the item of an entry.
fn item<'u>(
    unit: &Unit<'u>,
    entry: &Entry<'u>,
    at: usize,
    more: &[(&str, &[u8])],
    what: ItemContent<'u>,
) -> Item<'u> {
    Item {
        at_ms: entry.at_ms,
        session: entry.session(),
        http: entry.http(more),
        ..Item::new(unit.line_at(at), what)
    }
}

fn message<'u>(
    unit: &Unit<'u>,
    entry: &Entry<'u>,
    payload: Value<'u>,
    from: Direction,
    findings: &mut Findings<'u>,
) {
    let what = ItemContent::Message { from: Some(from), raw: Cow::Borrowed(payload.raw) };
    let head = (from == Direction::ServerToClient).then(|| entry.response_head()).flatten();
    let more = head.as_ref().map(|(_, head)| ("response", head.json()));
    let mut item = item(unit, entry, payload.offset, more.as_slice(), what);
    item.at_ms = item.at_ms.or_else(|| time_of(payload.raw));
    findings.items.push(item);
}

/// A response may be something other than a message: a server that requires a login answers with an error of
/// OAuth, or with nothing.
fn response_of<'u>(unit: &Unit<'u>, entry: &Entry<'u>, response: Value<'u>, findings: &mut Findings<'u>) {
    let is_message =
        // An OAuth error has a member `error`, which alone would make it a JSON-RPC response.
        Envelope::scan(response.raw).kind != MessageKind::NotJsonRpc && !is_oauth_error(response);
    if is_message {
        message(unit, entry, response, Direction::ServerToClient, findings);
        return;
    }
    let head = entry.response_head();
    // The body of a refusal may be anything, such as a proxy's HTML.
    let refused = head.as_ref().is_some_and(|(status, _)| *status >= 400);
    if !response.is_null() && !refused {
        findings.flaw(unit.line_at(response.offset), Defect::NotAMessage);
        return;
    }
    let text = response.string().unwrap_or_else(|| String::from_utf8_lossy(response.raw));
    let body = BodyNote { bytes: response.raw.len() as u64, text: Some(text.into_owned()), omitted: None };
    let body = serde_json::to_vec(&body).expect("plain fields always serialize");
    let mut more: Vec<(&str, &[u8])> = Vec::new();
    more.extend(head.as_ref().map(|(_, head)| ("response", head.json())));
    if !response.is_null() {
        more.push(("responseBody", &body));
    }
    findings.items.push(item(unit, entry, response.offset, &more, ItemContent::Exchange));
}

/// OAuth's errors have a string in `error` (RFC 6749, section 5.2), where JSON-RPC's have an object.
fn is_oauth_error(response: Value<'_>) -> bool {
    response.get("jsonrpc").is_none() && response.get("error").is_some_and(|error| !error.is_object())
}

/// The status in a transport context, under any of the names that are in use.
fn status(context: Value<'_>) -> Option<i64> {
    // Some serializers write the status as text.
    let number = |value: Value<'_>| value.integer().or_else(|| value.string()?.trim().parse().ok());
    let own = ["status", "status_code", "http_status"].iter().find_map(|name| number(context.get(name)?));
    own.or_else(|| status(context.get("response")?))
}

fn event<'u>(unit: &Unit<'u>, entry: &Entry<'u>, sse: Value<'u>, findings: &mut Findings<'u>) {
    let Some(data) = sse.get("data").filter(|_| sse.is_object()) else {
        findings.flaw(unit.line_at(sse.offset), Defect::Unexpected { expected: "an event with `data`" });
        return;
    };
    let name = sse.get("event").and_then(Value::string);
    let context = SseContext {
        event: name.as_deref().map(str::to_owned),
        id: sse.get("id").and_then(Value::string).map(Cow::into_owned),
        retry: sse.get("retry").and_then(Value::integer).and_then(|retry| u64::try_from(retry).ok()),
    };
    let payload = data.string_bytes().unwrap_or(Cow::Borrowed(data.raw));
    let (what, defect) = carried(name.as_deref(), payload);
    if let Some(defect) = defect {
        findings.flaw(unit.line_at(data.offset), defect);
    }
    let context = serde_json::to_vec(&context).expect("plain fields always serialize");
    findings.items.push(item(unit, entry, data.offset, &[("sse", &context)], what));
}

/// Writes an object whose member values are JSON already.
fn object(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut json = Vec::new();
    for (name, value) in members {
        json.extend_from_slice(if json.is_empty() { b"{\"" } else { b",\"" });
        json.extend_from_slice(name.as_bytes());
        json.extend_from_slice(b"\":");
        json.extend_from_slice(value);
    }
    json.push(b'}');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heads of the responses in an entry.
    fn heads(entry: &str) -> Vec<String> {
        let unit = Unit { bytes: entry.as_bytes(), line: 1, member: None, entry: None };
        let mut findings = Findings::default();
        read(&unit, &mut findings, "streamable-http");
        assert_eq!(findings.flaws, []);
        let http =
            findings.items.iter().filter_map(|item| Value::parse(item.http.as_ref()?).ok()?.get("response"));
        http.map(|head| String::from_utf8_lossy(head.raw).into_owned()).collect()
    }

    const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

    #[test]
    fn a_null_beside_a_value_is_absent() {
        let check = |entry: &str, expected: &[&str]| {
            super::super::testing::check(&STREAMABLE_HTTP, &format!("{{\"entries\":[{entry}]}}"), expected);
        };
        let found = format!("1 < {MESSAGE}");
        check(&format!(r#"{{"request":null,"response":{MESSAGE},"sse":null}}"#), &[&found]);
        check(&format!(r#"{{"response":{MESSAGE},"request":null}}"#), &[&found]);
        for entry in [
            r#"{"request":null,"response":null}"#,
            &format!(r#"{{"request":{MESSAGE},"response":{MESSAGE}}}"#),
        ] {
            check(entry, &["1 EntryShape"]);
        }
    }

    #[test]
    fn an_event_is_decoded_until_it_is_a_message() {
        let check = |data: &str, expected: &[&str]| {
            let entry = format!("{{\"entries\":[{{\"sse\":{{\"data\":{data}}}}}]}}");
            super::super::testing::check(&HTTP_SSE, &entry, expected);
        };
        let once = serde_json::to_string(MESSAGE).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        let found = format!("1 < {MESSAGE} {{\"sse\":{{}}}}");
        check(MESSAGE, &[&found]);
        check(&once, &[&found]);
        check(&twice, &[&found, "1 EncodedTwice"]);
        check(r#""hello""#, &["1 <~ hello {\"sse\":{}}", "1 EventNotAMessage"]);
        check(r#""[DONE]""#, &["1 <~ [DONE] {\"sse\":{}}", "1 EventNotAMessage"]);
    }

    #[test]
    fn a_message_that_is_cut_off_in_its_event_is_a_loss() {
        for data in [&MESSAGE[..20], "[{\"jsonrpc\":", "{\"jsonrpc\" 7}"] {
            let (what, defect) = carried(None, Cow::Borrowed(data.as_bytes()));
            assert!(matches!(what, ItemContent::Text { .. }));
            assert_eq!(defect.unwrap().severity(), super::super::super::item::Severity::Loss);
        }
        assert_eq!(carried(Some("endpoint"), Cow::Borrowed(b"{")).1, None);
    }

    #[test]
    fn the_head_of_a_response_is_found_wherever_it_stands() {
        let expected = r#"{"status":401,"version":"","headers":{"www-authenticate":"x"}}"#;
        let check = |rest: &str, expected: &[&str]| {
            let entry = format!("{{{rest}}}");
            assert_eq!(heads(&entry), expected, "{entry}");
        };
        for context in [
            r#"{"status":401,"headers":{"WWW-Authenticate":"x"}}"#,
            r#"{"status_code":"401","headers":{"www-authenticate":["x"]}}"#,
            r#"{"response":{"http_status":401,"headers":[{"name":"WWW-Authenticate","value":"x"}]}}"#,
            r#"{"status":401,"headers":[["Www-Authenticate","x"]]}"#,
        ] {
            check(&format!("\"transport_context\":{context},\"response\":null"), &[expected]);
            let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            check(&format!("\"transport_context\":{context},\"request\":{request}"), &[]);
        }
        check(
            r#""transport_context":{"status":401},"headers":{"WWW-Authenticate":"x"},"response":{"error":"invalid_token"}"#,
            &[expected],
        );
        let two = r#"{"status":401,"version":"","headers":{"www-authenticate":["x","y"]}}"#;
        check(
            r#""transport_context":{"status":401,"headers":{"WWW-Authenticate":["x","y"]}},"response":null"#,
            &[two],
        );
    }
}
