//! Estimates how many tokens a text takes in a model's context.

use std::borrow::Cow;
use wiretape_trace::json::compact;
use wiretape_trace::value::Value;

/// The encoding that is used to count. Other models use other encodings with similar counts.
pub const ENCODING: &str = "o200k_base";

/// Bytes that are encoded at a time. For long runs of one kind of character the encoder takes more than linear time and much
/// stack, so a hostile payload could hang it. A word that is split costs one more token.
const PIECE: usize = 4096;

/// The number of tokens of a text.
///
/// ```
/// assert_eq!(wiretape_analyze::tokens::count("Hello, world"), 3);
/// ```
pub fn count(text: &str) -> u64 {
    let encoding = tiktoken_rs::o200k_base_singleton();
    pieces(text).map(|piece| encoding.encode_ordinary(piece).len() as u64).sum()
}

/// Splits a text into pieces, at white space where possible.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.floor_char_boundary(PIECE);
        let end = match rest[..end].rfind(char::is_whitespace) {
            // Before the space, because the encoding attaches a space to the word after it.
            Some(space) if end < rest.len() && space > 0 => space,
            _ => end,
        };
        let (piece, more) = rest.split_at(end);
        rest = more;
        Some(piece)
    })
}

/// The number of tokens of a tool definition: its JSON without insignificant white space.
pub fn of_definition(definition: &[u8]) -> u64 {
    count(&String::from_utf8_lossy(&compact(definition)))
}

/// The number of tokens of a result: its texts, or its structured content if it has none. Images and audio are not counted:
/// their cost doesn't depend on their bytes.
pub fn of_result(result: &[u8]) -> u64 {
    let Ok(result) = Value::parse(result) else { return 0 };
    let mut tokens = 0;
    let mut any_text = false;
    texts(result, |text| {
        any_text = true;
        tokens += count(&text);
    });
    if any_text {
        return tokens;
    }
    result.get("structuredContent").map_or(0, |content| of_definition(content.raw))
}

/// Calls `each` with every text of a tool, resource or prompt result.
fn texts<'a>(result: Value<'a>, mut each: impl FnMut(Cow<'a, str>)) {
    let mut block = |block: Value<'a>| {
        let text = block.get("text").or_else(|| block.get("resource")?.get("text"));
        if let Some(text) = text.and_then(Value::string) {
            each(text);
        }
    };
    for list in ["content", "contents"] {
        if let Some(blocks) = result.get(list) {
            blocks.elements(&mut block);
        }
    }
    if let Some(messages) = result.get("messages") {
        messages.elements(|message| message.get("content").into_iter().for_each(&mut block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_whole() {
        let text = format!("{} {}", "ä".repeat(5000), "word ".repeat(3000));
        let pieces: Vec<&str> = pieces(&text).collect();
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE));
    }

    #[test]
    fn long_runs_take_no_long_time_and_no_deep_stack() {
        assert!(count(&" ".repeat(300_000)) > 1000);
        assert!(count(&"a".repeat(300_000)) > 1000);
    }

    #[test]
    fn results_cost_what_is_read() {
        let of = |result: &str| of_result(result.as_bytes());
        assert_eq!(of(r#"{"content":[{"type":"text","text":"Hello, world"}]}"#), 3);
        assert_eq!(of(r#"{"content":[{"type":"image","data":"AAAA"}]}"#), 0);
        assert_eq!(of(r#"{"content":[],"structuredContent":{"a":1}}"#), count(r#"{"a":1}"#));
        assert_eq!(of(r#"{"contents":[{"uri":"x","text":"Hello, world"}]}"#), 3);
        assert_eq!(of(r#"{"messages":[{"content":{"type":"text","text":"Hello, world"}}]}"#), 3);
        assert_eq!(of(r#"{"content":[{"type":"resource","resource":{"text":"Hello, world"}}]}"#), 3);
        assert_eq!(of("[]"), 0);
    }

    #[test]
    fn a_definition_costs_the_same_however_it_is_laid_out() {
        assert_eq!(of_definition(b"{ \"name\" : \"a\" }"), of_definition(b"{\"name\":\"a\"}"));
    }
}
