//! Describes a payload on one line.

use super::json::{self, compact, elements, keys, member, string, string_member};
use super::printable::printable;
use super::units::{bytes, count};
use std::borrow::Cow;
use wiretape_trace::message::{Envelope, MessageKind};

/// Describes a payload in about `budget` bytes. For a response, `method` is that of its request.
pub fn describe(raw: &[u8], envelope: &Envelope<'_>, method: &str, budget: usize) -> String {
    let description = match envelope.kind {
        MessageKind::Response => match (envelope.error, envelope.result) {
            (Some(error), _) => Some(describe_error(error, budget)),
            (None, Some(result)) => Some(describe_result(method, result, budget)),
            (None, None) => None,
        },
        MessageKind::Request | MessageKind::Notification => {
            envelope.params.and_then(|params| describe_params(method, params, budget))
        }
        MessageKind::Batch | MessageKind::NotJsonRpc => Some(compact(raw, budget)),
    };
    description.unwrap_or_default()
}

fn describe_error(error: &[u8], budget: usize) -> String {
    let message = string_member(error, "message").map(|message| printable(&message).into_owned());
    let data = member(error, "data").map(|data| compact(data, budget));
    match (message, data) {
        (Some(message), Some(data)) => format!("{message} · {data}"),
        (Some(message), None) => message,
        (None, _) => compact(error, budget),
    }
}

fn describe_params(method: &str, params: &[u8], budget: usize) -> Option<String> {
    let known = match method {
        "initialize" => introduction(params, "clientInfo"),
        // The tool's name has a column of its own, so only the arguments are shown; none are shown as nothing.
        "tools/call" => return member(params, "arguments").map(|arguments| compact(arguments, budget)),
        "prompts/get" => {
            let arguments = member(params, "arguments").map(|arguments| compact(arguments, budget));
            join([string_member(params, "name").map(|name| printable(&name).into_owned()), arguments])
        }
        "notifications/progress" => progress(params),
        "notifications/message" => {
            let level = string_member(params, "level").map(|level| printable(&level).into_owned());
            join([level, member(params, "data").map(|data| words(data, budget))])
        }
        "notifications/cancelled" => {
            let request = member(params, "requestId").map(|id| format!("#{}", compact(id, budget)));
            join([request, string_member(params, "reason").map(|reason| printable(&reason).into_owned())])
        }
        "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "notifications/resources/updated" => {
            string_member(params, "uri").map(|uri| printable(&uri).into_owned())
        }
        _ => None,
    };
    known.or_else(|| has_more_than_meta(params).then(|| compact(params, budget)))
}

/// Whether it has members other than `_meta`.
fn has_more_than_meta(params: &[u8]) -> bool {
    !params.starts_with(b"{") || keys(params).iter().any(|key| key != "_meta")
}

fn describe_result(method: &str, result: &[u8], budget: usize) -> String {
    let known = match method {
        "initialize" => introduction(result, "serverInfo").map(|said| match member(result, "capabilities") {
            Some(capabilities) => format!("{said} · {}", keys(capabilities).join(", ")),
            None => said,
        }),
        "tools/call" => tool_result(result, budget),
        "resources/read" => member(result, "contents").map(|contents| content(&elements(contents), budget)),
        "prompts/get" => member(result, "messages").map(|messages| {
            let contents: Vec<&[u8]> =
                elements(messages).into_iter().filter_map(|message| member(message, "content")).collect();
            content(&contents, budget)
        }),
        _ => listing(result),
    };
    known.unwrap_or_else(|| compact(result, budget))
}

/// `2025-06-18 · everything 1.0.0`
fn introduction(value: &[u8], info: &str) -> Option<String> {
    let version = string_member(value, "protocolVersion").map(Cow::into_owned);
    let peer = member(value, info).and_then(|info| {
        let name = string_member(info, "name")?;
        let version = string_member(info, "version").unwrap_or_default();
        Some(format!("{name} {version}").trim_end().to_owned())
    });
    join([version, peer]).map(|said| printable(&said).into_owned())
}

fn progress(params: &[u8]) -> Option<String> {
    let number = |name| member(params, name).map(|value| compact(value, 40));
    let done = match (number("progress"), number("total")) {
        (Some(done), Some(total)) => Some(format!("{done}/{total}")),
        (done, _) => done,
    };
    join([done, string_member(params, "message").map(|message| printable(&message).into_owned())])
}

fn tool_result(result: &[u8], budget: usize) -> Option<String> {
    let items = member(result, "content").map(elements).unwrap_or_default();
    if items.is_empty() {
        // Servers should repeat structured content as text (2025-06-18, tools), so it is only shown if there is no
        // text.
        return member(result, "structuredContent").map(|value| compact(value, budget));
    }
    Some(content(&items, budget))
}

/// The first content block, and the number of blocks.
fn content(blocks: &[&[u8]], budget: usize) -> String {
    let Some((first, more)) = blocks.split_first() else { return "no content".to_owned() };
    let said = block(first, budget);
    if more.is_empty() { said } else { format!("[1/{}] {said}", blocks.len()) }
}

fn block(block: &[u8], budget: usize) -> String {
    if let Some(text) = string_member(block, "text") {
        let end = text.floor_char_boundary(budget);
        return printable(text[..end].trim()).into_owned();
    }
    let kind = string_member(block, "type");
    let mime = string_member(block, "mimeType");
    let uri = string_member(block, "uri").or_else(|| string_member(member(block, "resource")?, "uri"));
    let data = member(block, "data").or_else(|| member(block, "blob")).and_then(string);
    // The decoded size: four characters of base64 are three bytes. Padding is ignored.
    let size = data.map(|data| bytes(data.len() as u64 / 4 * 3));
    let said = join([kind, mime, uri].map(|part| part.map(|part| printable(&part).into_owned())));
    join([said, size]).map_or_else(|| compact(block, budget), |said| format!("<{said}>"))
}

/// `3 tools: add, echo, long_running`
fn listing(result: &[u8]) -> Option<String> {
    let of = |list: &str, thing: &str, name: &str| {
        let items = elements(member(result, list)?);
        let names: Vec<String> = items
            .iter()
            // Enough for any terminal; a list may have thousands.
            .take(50)
            .filter_map(|item| string_member(item, name).map(|name| printable(&name).into_owned()))
            .collect();
        let many = count(items.len() as u64, thing);
        Some(if names.is_empty() { many } else { format!("{many}: {}", names.join(", ")) })
    };
    of("tools", "tool", "name")
        .or_else(|| of("prompts", "prompt", "name"))
        .or_else(|| of("resources", "resource", "uri"))
        .or_else(|| of("resourceTemplates", "template", "uriTemplate"))
        .or_else(|| of("roots", "root", "uri"))
}

/// The text of a string; any other value as JSON.
fn words(value: &[u8], budget: usize) -> String {
    json::string(value).map_or_else(|| compact(value, budget), |text| printable(&text).into_owned())
}

fn join<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_one(method: &str, raw: &str) -> String {
        describe(raw.as_bytes(), &Envelope::scan(raw.as_bytes()), method, 120)
    }

    fn check_request(method: &str, params: &str, expected: &str) {
        let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        assert_eq!(describe_one(method, &raw), expected);
    }

    fn check_response(method: &str, response: &str, expected: &str) {
        let response = format!(r#"{{"jsonrpc":"2.0","id":1,{response}}}"#);
        assert_eq!(describe_one(method, &response), expected);
    }

    #[test]
    fn requests_say_what_they_want() {
        check_request(
            "initialize",
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
            "2025-06-18 c 1",
        );
        check_request(
            "tools/call",
            r#"{"name":"add","arguments":{"a":1.0,"b":[2]}}"#,
            r#"{"a": 1.0, "b": [2]}"#,
        );
        check_request("tools/call", r#"{"name":"add"}"#, "");
        check_request("tools/list", r#"{"_meta":{"progressToken":1}}"#, "");
        check_request("tools/list", r#"{"cursor":"x"}"#, r#"{"cursor": "x"}"#);
        check_request("resources/read", r#"{"uri":"file:///a"}"#, "file:///a");
        check_request(
            "notifications/progress",
            r#"{"progressToken":1,"progress":2,"total":10,"message":"on"}"#,
            "2/10 on",
        );
        check_request("notifications/cancelled", r#"{"requestId":"a","reason":"late"}"#, "#\"a\" late");
        check_request("notifications/message", r#"{"level":"info","data":"one\ntwo"}"#, "info one⏎two");
        check_request("a/b", "[1, 2]", "[1, 2]");
    }

    #[test]
    fn responses_say_what_they_give() {
        check_response(
            "initialize",
            r#""result":{"protocolVersion":"p","serverInfo":{"name":"s","version":"2"},"capabilities":{"tools":{},"logging":{}}}"#,
            "p s 2 · tools, logging",
        );
        check_response("tools/list", r#""result":{"tools":[{"name":"a"},{"name":"b"}]}"#, "2 tools: a, b");
        check_response(
            "tools/call",
            r#""result":{"content":[{"type":"text","text":"hi\u001b[0m"}]}"#,
            "hi␛[0m",
        );
        check_response(
            "tools/call",
            r#""result":{"content":[{"type":"image","mimeType":"image/png","data":"AAAABBBB"},{"type":"text","text":"x"}]}"#,
            "[1/2] <image image/png 6 B>",
        );
        check_response(
            "tools/call",
            r#""result":{"content":[],"structuredContent":{"n":1.0}}"#,
            r#"{"n": 1.0}"#,
        );
        check_response("a/b", r#""error":{"code":-1,"message":"no","data":[1]}"#, "no · [1]");
        check_response("a/b", r#""result":{}"#, "{}");
        check_response("a/b", r#""error":7"#, "7");
    }
}
