//! The same session, in every format that has it whole, means the same: the same calls, names, arguments, results or errors,
//! in the same order, with the same orphans.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use proptest::prelude::*;
use serde_json::{Value, json};
use std::io;
use wiretape_analyze::export::{self, ExportOptions, Survey};
use wiretape_analyze::reading::RecordingState;
use wiretape_trace::format::{Meta, TraceReader};
use wiretape_trace::import::{self, ImportError, ImportOptions, SinkDecision, TraceSink};

#[derive(Default)]
struct Memory(Vec<u8>);

impl TraceSink for Memory {
    fn begin(&mut self, _: Option<&str>) -> io::Result<SinkDecision> {
        Ok(SinkDecision::Wanted { id: None })
    }

    fn write(&mut self, _: usize, lines: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(lines);
        Ok(())
    }
}

/// Imports a source.
fn trace_of(format: &str, source: &[u8]) -> Result<Vec<u8>, ImportError> {
    let options = ImportOptions {
        format: import::find(format).unwrap(),
        redactor: None,
        strict: true,
        workers: 2,
        meta: Meta { label: "x".to_owned(), ..Meta::default() },
        source: "x".to_owned(),
    };
    let mut memory = Memory::default();
    import::import(source, &options, &mut memory)?;
    Ok(memory.0)
}

/// Exports a trace.
fn exported(format: &str, trace: &[u8]) -> String {
    let options = ExportOptions { episode_id: "e".to_owned(), test_id: None, prompt: "p".to_owned() };
    let mut survey = Survey::new();
    let mut reader = TraceReader::new(trace);
    while let Some(line) = reader.next_line().unwrap() {
        survey.observe(&line);
    }
    let mut exporter = export::find(format).unwrap().begin(&options, &survey);
    let mut out = Vec::new();
    exporter.begin(&mut out).unwrap();
    let mut reader = TraceReader::new(trace);
    while let Some(line) = reader.next_line().unwrap() {
        exporter.line(&line, &mut out).unwrap();
    }
    exporter.finish(RecordingState::Over, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What a source means.
fn meaning(format: &str, source: &[u8]) -> String {
    exported("assay-v2", &trace_of(format, source).unwrap())
}

/// What a source means, whenever it happened.
fn timeless(format: &str, source: &[u8]) -> Vec<Value> {
    let mut events: Vec<Value> =
        meaning(format, source).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    events.iter_mut().for_each(|event| event["timestamp"] = Value::Null);
    events
}

/// Something that happens in a session.
#[derive(Debug, Clone)]
enum Happening {
    Call {
        id: Value,
        name: String,
        arguments: Value,
    },
    List {
        id: Value,
    },
    /// Of one of the calls or lists so far.
    Answer {
        of: prop::sample::Index,
        fails: bool,
        result: Value,
    },
    Orphan {
        id: Value,
    },
    Notification,
    /// The server asks, with an id that may be a call's too, and is answered.
    Sampling {
        id: Value,
    },
    /// HTTP traffic that is not a message.
    KeepAlive,
}

fn json_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        any::<i64>().prop_map(|n| json!({ "n": n })),
        "[a-zé\"\\\\ \n]{0,8}".prop_map(|text| json!({ "text": text, "tools": [] })),
        any::<bool>()
            .prop_map(|flag| json!({ "content": [{ "type": "text", "text": "x" }], "isError": flag })),
    ]
}

fn id() -> impl Strategy<Value = Value> {
    prop_oneof![(0_u32..6).prop_map(Value::from), "[a-c]{1,2}".prop_map(Value::from)]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (id(), "[a-z]{1,6}", json_value())
            .prop_map(|(id, name, arguments)| Happening::Call { id, name, arguments }),
        1 => id().prop_map(|id| Happening::List { id }),
        5 => (any::<prop::sample::Index>(), any::<bool>(), json_value())
            .prop_map(|(of, fails, result)| Happening::Answer { of, fails, result }),
        1 => id().prop_map(|id| Happening::Orphan { id }),
        1 => Just(Happening::Notification),
        1 => id().prop_map(|id| Happening::Sampling { id }),
        1 => Just(Happening::KeepAlive),
    ]
}

/// A message and whether the client sent it; `None` for a keep-alive.
type Sent = Option<(bool, Value)>;

/// Plays a session. Ids are used once by the client, as the protocol wants it.
fn play(happenings: &[Happening]) -> Vec<Sent> {
    let mut used = Vec::new();
    let mut asked: Vec<Value> = Vec::new();
    let mut sent =
        vec![Some((true, json!({ "jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {} })))];
    for happening in happenings {
        match happening {
            Happening::Call { id, name, arguments } if is_new(&mut used, id) => {
                let params = json!({ "name": name, "arguments": arguments });
                sent.push(Some((true, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))));
                asked.push(id.clone());
            }
            Happening::List { id } if is_new(&mut used, id) => {
                sent.push(Some((true, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }))));
                asked.push(id.clone());
            }
            Happening::Answer { of, fails, result } if !asked.is_empty() => {
                let id = of.get(&asked);
                sent.push(Some((false, if *fails {
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": "no", "data": result } })
                } else {
                    json!({ "jsonrpc": "2.0", "id": id, "result": result })
                })));
            }
            Happening::Orphan { id } => {
                let nobody = json!(format!("nobody-{id}"));
                sent.push(Some((false, json!({ "jsonrpc": "2.0", "id": nobody, "result": {} }))));
            }
            Happening::Notification => sent.push(Some((
                false,
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } }),
            ))),
            Happening::Sampling { id } => {
                let ask = json!({ "jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": {} });
                let result = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "y" } });
                sent.push(Some((false, ask)));
                sent.push(Some((true, json!({ "jsonrpc": "2.0", "id": id, "result": result }))));
            }
            Happening::KeepAlive => sent.push(None),
            _ => {}
        }
    }
    sent
}

/// Whether an id was not used yet; `1` and `"1"` are the same to an importer.
fn is_new(used: &mut Vec<String>, id: &Value) -> bool {
    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    let new = !used.contains(&text);
    used.push(text);
    new
}

fn as_jsonrpc(sent: &[Sent]) -> Vec<u8> {
    sent.iter().flatten().map(|(_, message)| format!("{message}\r\n")).collect::<String>().into_bytes()
}

fn as_inspector(sent: &[Sent]) -> Vec<u8> {
    let messages: Vec<&Value> = sent.iter().flatten().map(|(_, message)| message).collect();
    serde_json::to_vec_pretty(&json!({ "events": messages })).unwrap()
}

fn as_envelope(transport: &str, sent: &[Sent], times: &[i64]) -> Vec<u8> {
    let is_legacy = transport == "http-sse";
    let mut entries = Vec::new();
    if is_legacy {
        entries.push(json!({ "sse": { "event": "endpoint", "data": "/messages?session=1" } }));
    }
    for (at, sent) in sent.iter().enumerate() {
        let mut entry = match sent {
            None => json!({ "sse": { "event": "ping", "data": "" } }),
            Some((true, message)) => json!({ "request": message }),
            Some((false, message)) if message.get("method").is_none() && !is_legacy => {
                json!({ "response": message })
            }
            Some((false, message)) if at % 2 == 0 => {
                json!({ "sse": { "event": "message", "data": message } })
            }
            Some((false, message)) => json!({ "sse": { "id": "7", "data": message.to_string() } }),
        };
        if let Some(time) = times.get(at) {
            entry["timestamp_ms"] = json!(time);
        }
        entry["transport_context"] = json!({ "headers": { "Mcp-Session-Id": "s" } });
        entries.push(entry);
    }
    let document =
        json!({ "transport": transport, "transport_context": { "headers": {} }, "entries": entries });
    serde_json::to_vec_pretty(&document).unwrap()
}

proptest! {
    #[test]
    fn a_session_means_the_same_in_every_format(happenings in prop::collection::vec(happening(), 0..24)) {
        let sent = play(&happenings);
        let expected = meaning("jsonrpc", &as_jsonrpc(&sent));
        prop_assert_eq!(&meaning("streamable-http", &as_envelope("streamable-http", &sent, &[])), &expected);
        prop_assert_eq!(&meaning("http-sse", &as_envelope("http-sse", &sent, &[])), &expected);
        prop_assert_eq!(&meaning("inspector", &as_inspector(&sent)), &expected);
    }

    #[test]
    fn times_pair_nothing_and_part_nothing(
        happenings in prop::collection::vec(happening(), 0..24),
        times in prop::collection::vec(0_i64..50, 0..30),
    ) {
        let sent = play(&happenings);
        let expected = timeless("jsonrpc", &as_jsonrpc(&sent));
        prop_assert_eq!(&timeless("streamable-http", &as_envelope("streamable-http", &sent, &times)), &expected);
        let document = meaning("streamable-http", &as_envelope("streamable-http", &sent, &times));
        let ends: Vec<i64> = document
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|event| event["error"] != "timeout/no_response")
            .map(|event| event["timestamp"].as_i64().unwrap())
            .collect();
        prop_assert!(ends.is_sorted(), "{:?}", ends);
    }

    #[test]
    fn what_is_exported_is_imported_again(happenings in prop::collection::vec(happening(), 0..24)) {
        let trace = trace_of("jsonrpc", &as_jsonrpc(&play(&happenings))).unwrap();
        let expected = exported("assay-v2", &trace);
        for format in ["jsonrpc", "streamable-http", "http-sse"] {
            prop_assert_eq!(&meaning(format, exported(format, &trace).as_bytes()), &expected, "{}", format);
        }
    }
}
