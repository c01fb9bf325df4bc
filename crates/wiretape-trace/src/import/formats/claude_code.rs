//! Sessions of Claude Code. Its files contain the model's conversation, not the wire: of the protocol there
//! are the calls of tools and their results, from which messages are built here. Tools of a server are named
//! `mcp__<server>__<tool>`; the program's own tools get a trace of their own.
//!
//! A result refers to its call but not to the server, which is found by the open request.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Findings, Item, ItemContent};
use super::{Format, Sample, value_of};
use crate::message::Direction;
use std::borrow::Cow;

pub(super) static CLAUDE_CODE: Format = Format {
    name: "claude-code",
    aliases: &["claude"],
    about: "the tool calls in a session file of Claude Code",
    shape: Shape::Lines,
    transport: None,
    calls_only: true,
    many_sessions: false,
    recognize,
    read,
};

/// The name of the trace for tools that don't belong to a server.
const OWN_TOOLS: &str = "claude-code";

fn recognize(sample: &Sample<'_>) -> bool {
    let is_turn = |object: Value<'_>| {
        let text = |path: &[&str]| object.at_path(path).and_then(Value::string);
        let kind = text(&["type"]);
        matches!(kind.as_deref(), Some("user" | "assistant"))
            && text(&["message", "role"]) == kind
            && (text(&["sessionId"]).is_some() || text(&["session_id"]).is_some())
    };
    // The first line may be longer than the sample.
    let is_beginning_of_turn = || {
        let names = ["\"parentUuid\":", "\"isSidechain\":", "\"sessionId\":"];
        sample.is_document() && names.iter().all(|name| sample.contains(name))
    };
    sample.objects().any(is_turn) || is_beginning_of_turn()
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    // Most lines are something else; a search skips them without parsing.
    if memchr::memmem::find(unit.bytes, b"\"tool_").is_none() {
        return;
    }
    let Some(line) = value_of(unit, findings) else { return };
    let kind = line.get("type").and_then(Value::string);
    let Some(content) = line.at_path(&["message", "content"]) else { return };
    let at_ms = line.get("timestamp").and_then(Value::time_ms);
    match kind.as_deref() {
        Some("assistant") => blocks(content, "tool_use", |block| {
            findings.items.extend(call(unit.line, at_ms, block));
        }),
        Some("user") => {
            let mut results = Vec::new();
            blocks(content, "tool_result", |block| results.push(block));
            // The rest of the server's result is outside the message. It can be attributed only if there is
            // one result.
            let beside = line.get("mcpMeta").filter(|_| results.len() == 1);
            let made = results.into_iter().filter_map(|block| result(unit.line, at_ms, block, beside));
            findings.items.extend(made);
        }
        _ => {}
    }
}

/// Calls `each` for every block of a kind.
fn blocks<'u>(content: Value<'u>, kind: &str, mut each: impl FnMut(Value<'u>)) {
    content.elements(|block| {
        if block.get("type").and_then(Value::string).as_deref() == Some(kind) {
            each(block);
        }
    });
}

fn call<'u>(line: u64, at_ms: Option<i64>, block: Value<'u>) -> Option<Item<'u>> {
    let id = block.get("id").filter(|id| id.string().is_some())?;
    let name = block.get("name")?.string()?;
    let (server, tool) = split(&name);
    let arguments: &[u8] = block.get("input").map_or(b"{}", |input| input.raw);
    let mut raw = begin(id);
    raw.extend_from_slice(b",\"method\":\"tools/call\",\"params\":{\"name\":");
    serde_json::to_writer(&mut raw, tool).expect("writing a string into memory can't fail");
    raw.extend_from_slice(b",\"arguments\":");
    raw.extend_from_slice(arguments);
    raw.extend_from_slice(b"}}");
    let what = ItemContent::Message { from: Some(Direction::ClientToServer), raw: Cow::Owned(raw) };
    Some(Item { at_ms, server: Some(Cow::Owned(server.to_owned())), ..Item::new(line, what) })
}

/// Splits a tool's name into its server and the name there.
fn split(name: &str) -> (&str, &str) {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.filter(|(server, tool)| !server.is_empty() && !tool.is_empty()).unwrap_or((OWN_TOOLS, name))
}

fn result<'u>(
    line: u64,
    at_ms: Option<i64>,
    block: Value<'u>,
    beside: Option<Value<'u>>,
) -> Option<Item<'u>> {
    let id = block.get("tool_use_id").filter(|id| id.string().is_some())?;
    let mut raw = begin(id);
    raw.extend_from_slice(b",\"result\":{\"content\":");
    push_content(&mut raw, block.get("content"));
    for name in ["structuredContent", "_meta"] {
        if let Some(value) = beside.and_then(|beside| beside.get(name)) {
            raw.extend_from_slice(format!(",\"{name}\":").as_bytes());
            raw.extend_from_slice(value.raw);
        }
    }
    if block.get("is_error").is_some_and(|is_error| is_error.raw == b"true") {
        raw.extend_from_slice(b",\"isError\":true");
    }
    raw.extend_from_slice(b"}}");
    let what = ItemContent::Message { from: Some(Direction::ServerToClient), raw: Cow::Owned(raw) };
    Some(Item { at_ms, ..Item::new(line, what) })
}

fn begin(id: Value<'_>) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.raw].concat()
}

/// Writes the content of a result in the protocol's form, an array of blocks.
fn push_content(out: &mut Vec<u8>, content: Option<Value<'_>>) {
    out.push(b'[');
    if let Some(text) = content.filter(|content| content.string().is_some()) {
        out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        out.extend_from_slice(text.raw);
        out.push(b'}');
    } else if let Some(blocks) = content {
        let mut is_first = true;
        blocks.elements(|block| {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            push_block(out, block);
        });
    }
    out.push(b']');
}

/// Images have another form in the model's API than in the protocol. Everything else is copied.
fn push_block(out: &mut Vec<u8>, block: Value<'_>) {
    let of_source = |name| block.at_path(&["source", name]).filter(|value| value.string().is_some());
    let is_image = block.get("type").and_then(Value::string).as_deref() == Some("image");
    match (is_image, of_source("data"), of_source("media_type")) {
        (true, Some(data), Some(media_type)) => {
            out.extend_from_slice(b"{\"type\":\"image\",\"data\":");
            out.extend_from_slice(data.raw);
            out.extend_from_slice(b",\"mimeType\":");
            out.extend_from_slice(media_type.raw);
            out.push(b'}');
        }
        _ => out.extend_from_slice(block.raw),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::told;
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let told = told(&CLAUDE_CODE, input, |item| {
            let ItemContent::Message { raw, .. } = &item.what else { panic!("{item:?}") };
            crate::json::validate(raw).unwrap();
            format!("{:?} {}", item.server.as_deref(), String::from_utf8_lossy(raw))
        });
        assert_eq!(told, expected);
    }

    fn check_result(block: &str, expected: &str) {
        let line = format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1"{block}}}]}}}}"#
        );
        check(&line, &[&format!(r#"None {{"jsonrpc":"2.0","id":"t1","result":{{{expected}}}}}"#)]);
    }

    #[test]
    fn calls_are_made_of_tool_uses() {
        check(
            r#"{"type":"assistant","sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t1","name":"mcp__git_hub__list__issues","input":{"n" : 1.0}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]}}"#,
            &[
                r#"Some("git_hub") {"jsonrpc":"2.0","id":"t1","method":"tools/call","params":{"name":"list__issues","arguments":{"n" : 1.0}}}"#,
                r#"Some("claude-code") {"jsonrpc":"2.0","id":"t2","method":"tools/call","params":{"name":"Bash","arguments":{"command":"ls"}}}"#,
            ],
        );
    }

    #[test]
    fn results_are_given_the_form_of_the_protocol() {
        check_result(r#","content":"a\nb""#, r#""content":[{"type":"text","text":"a\nb"}]"#);
        check_result("", r#""content":[]"#);
        check_result(
            r#","is_error":true,"content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]"#,
            r#""content":[{"type":"text","text":"x"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"isError":true"#,
        );
        check_result(
            r#","is_error":false,"content":[{"type":"image","source":{"type":"url","url":"x"}}]"#,
            r#""content":[{"type":"image","source":{"type":"url","url":"x"}}]"#,
        );
    }

    #[test]
    fn what_stands_beside_a_result_belongs_to_it() {
        check(
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]},"mcpMeta":{"structuredContent":{"n":1},"_meta":{"a":2}}}"#,
            &[
                r#"None {"jsonrpc":"2.0","id":"t1","result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":1},"_meta":{"a":2}}}"#,
            ],
        );
    }

    #[test]
    fn what_is_no_call_is_passed_over() {
        check(r#"{"type":"summary","summary":"about \"tool_use\"","leafUuid":"u"}"#, &[]);
        check(r#"{"type":"user","message":{"role":"user","content":"a \"tool_use\""}}"#, &[]);
        check(r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash"}]}}"#, &[]);
        check(r#"{"type":"tool_use""#, &["line 1: not JSON at byte 18: it ends too early"]);
    }

    #[test]
    fn it_is_recognized() {
        let name = |input: &[u8]| super::super::detect(input).map(|format| format.name);
        let fixture = include_bytes!("../../../../../fixtures/import/claude-code.jsonl");
        assert_eq!(name(fixture), Some("claude-code"));
        let long = br#"{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{"content":"lo"#;
        assert_eq!(name(long), Some("claude-code"));
        let printed = br#"{"type":"assistant","message":{"role":"assistant","content":[]},"session_id":"s"}"#;
        assert_eq!(name(printed), Some("claude-code"));
        let chat = br#"{"type":"user","message":{"role":"user","content":"hi"}}"#;
        assert_eq!(name(chat), None);
    }
}
