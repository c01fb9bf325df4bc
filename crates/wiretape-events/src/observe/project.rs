//! Which parts of a message go into an event: everything, except what is long and of little use to a log. The
//! trace has the rest.

use crate::raw::Raw;
use bytes::Bytes;
use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// Parameters, results and errors longer than this, in bytes, are replaced by their length.
const MAX: usize = 32 * 1024;

/// A list in a result, and the members of its entries that are kept.
struct ListProjection {
    method: &'static str,
    list: &'static str,
    keep: &'static [&'static str],
}

// The lists whose entries can be large without telling a reader of events much: file contents and
// descriptions.
const LIST_PROJECTIONS: [ListProjection; 3] = [
    ListProjection { method: "resources/list", list: "resources", keep: &["uri", "name", "title"] },
    ListProjection {
        method: "resources/templates/list",
        list: "resourceTemplates",
        keep: &["uriTemplate", "name", "title"],
    },
    ListProjection { method: "resources/read", list: "contents", keep: &["uri", "name", "title"] },
];

/// The logged form of a request. Shares the bytes unless it is too long.
pub(super) fn request(message: &Bytes) -> Raw {
    if message.len() <= MAX {
        return message.clone().into();
    }
    shortened(message)
}

/// The logged form of the answer to a request with this method.
pub(super) fn response(method: &str, message: &Bytes) -> Raw {
    if let Some(projection) = LIST_PROJECTIONS.iter().find(|projection| projection.method == method)
        && let Some(result) = Envelope::scan(message).result
        && let Some(projected) = projection.result(result)
    {
        let whole = Bytes::from(with(message, result, &projected));
        return if whole.len() <= MAX { whole.into() } else { shortened(&whole) };
    }
    request(message)
}

impl ListProjection {
    fn result(&self, result: &[u8]) -> Option<Vec<u8>> {
        let result = Value::parse(result).ok()?;
        let mut out = format!("{{\"{}\":[", self.list).into_bytes();
        let mut first = true;
        result.get(self.list)?.elements(|entry| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            self.entry(entry, &mut out);
        });
        out.push(b']');
        if let Some(cursor) = result.get("nextCursor") {
            out.extend_from_slice(b",\"nextCursor\":");
            out.extend_from_slice(cursor.raw);
        }
        out.push(b'}');
        Some(out)
    }

    fn entry(&self, entry: Value<'_>, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut first = true;
        for name in self.keep {
            if let Some(value) = entry.get(name) {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(value.raw);
            }
        }
        out.push(b'}');
    }
}

/// The message with its longest part replaced by `{"cut": length}`, so that it stays valid JSON with its id
/// and method.
fn shortened(message: &Bytes) -> Raw {
    let envelope = Envelope::scan(message);
    let parts = [envelope.params, envelope.result, envelope.error];
    let Some(longest) = parts.into_iter().flatten().max_by_key(|part| part.len()) else {
        return cut_whole(message);
    };
    let cut = with(message, longest, format!("{{\"cut\":{}}}", longest.len()).as_bytes());
    if cut.len() > MAX {
        return cut_whole(message);
    }
    Raw::from(cut)
}

/// What is left of a message of which no part is short enough.
fn cut_whole(message: &[u8]) -> Raw {
    format!("{{\"cut\":{}}}", message.len()).into_bytes().into()
}

/// The message with `part`, a slice of it, replaced.
fn with(message: &[u8], part: &[u8], by: &[u8]) -> Vec<u8> {
    // `part` was cut out of `message` by `Envelope::scan`, so the difference of the pointers is its offset.
    let start = part.as_ptr() as usize - message.as_ptr() as usize;
    [&message[..start], by, &message[start + part.len()..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, message: &str, expected: &str) {
        let logged = response(method, &Bytes::from(message.to_owned()));
        assert_eq!(String::from_utf8_lossy(logged.as_bytes()), expected);
    }

    #[test]
    fn of_resources_names_and_paths_are_left() {
        check(
            "resources/list",
            r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[{"description":"long","uri":"ui://a","name":"a","size":5},{"uri":"b"}],"nextCursor":"n","_meta":{"x":1}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"ui://a","name":"a"},{"uri":"b"}],"nextCursor":"n"}}"#,
        );
        check(
            "resources/templates/list",
            r#"{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"uriTemplate":"x/{y}","title":"T","description":"d"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"uriTemplate":"x/{y}","title":"T"}]}}"#,
        );
        check(
            "resources/read",
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"ui://a","mimeType":"text/html","text":"<html>"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"ui://a"}]}}"#,
        );
    }

    #[test]
    fn what_is_no_such_list_stays() {
        for (method, message) in [
            ("resources/read", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}}"#),
            ("resources/list", r#"{"jsonrpc":"2.0","id":1,"result":{"odd":true}}"#),
            ("tools/list", r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"d"}]}}"#),
        ] {
            check(method, message, message);
        }
    }

    #[test]
    fn what_is_huge_is_cut() {
        let long = "x".repeat(MAX);
        check(
            "tools/call",
            &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":["{long}"]}}}}"#),
            &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"cut":{}}}}}"#, MAX + 16),
        );
        check(
            "resources/list",
            &format!(r#"{{"id":1,"result":{{"resources":[{{"uri":"{long}"}}]}}}}"#),
            &format!(r#"{{"id":1,"result":{{"cut":{}}}}}"#, MAX + 26),
        );
        let odd = Bytes::from(format!("[\"{long}\"]"));
        assert_eq!(request(&odd).as_bytes(), format!("{{\"cut\":{}}}", odd.len()).as_bytes());
    }
}
