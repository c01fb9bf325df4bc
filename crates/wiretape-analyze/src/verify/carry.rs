//! What a server makes up and a client repeats: cursors, states, tasks, ids, tokens. A request that repeats a recorded one
//! must repeat the live one instead.

use super::looks::Runs;
use crate::json_diff::diff;
use crate::volatile::{Part, Paths, Volatile};
use regex::Regex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;
use wiretape_trace::json::{Lexer, Token};
use wiretape_trace::message::Envelope;
use wiretape_trace::redact::markers;
use wiretape_trace::splice::{Edit, splice};
use wiretape_trace::value::Value;

/// Members of results that the protocol wants repeated, wherever they stand.
const REPEATED: [&str; 3] = ["nextCursor", "requestState", "taskId"];

/// Members of requests that repeat them.
const REPEATING: [&str; 3] = ["cursor", "requestState", "taskId"];

/// More differences of two results are not looked into.
const MAX_DIFFERENCES: usize = 1000;

/// Deeper places are not looked into.
const MAX_DEPTH: usize = 16;

/// Texts that are JSON are looked into: many tools answer so.
static LOOK_INTO_TEXTS: LazyLock<Volatile> = LazyLock::new(Volatile::defaults);

/// What some programs put in the place of every secret.
const ANY_SECRET: &str = "[REDACTED]";

/// An id has so many characters.
const ID_LENGTH: std::ops::RangeInclusive<usize> = 4..=512;

/// What was made up, recorded and live.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// By what was recorded: what it is now; `None` if the server was not asked for it, or answered otherwise.
    live: HashMap<String, Option<String>>,
}

impl Carried {
    /// A call was answered, or was not made at all.
    pub(super) fn learn(&mut self, runs: &Runs, recorded: &[u8], live: Option<&[u8]>) {
        let result = |message| Envelope::scan(message).result.and_then(|result| Value::parse(result).ok());
        let Some(recorded) = result(recorded) else { return };
        let live = live.and_then(result);
        self.learn_repeated(recorded, live, 0);
        let Some(live) = live else { return };
        for difference in diff(recorded, live, Paths::none(), MAX_DIFFERENCES).list {
            if let Some(inside) = difference.inside(LOOK_INTO_TEXTS.of(Part::Result)) {
                for difference in inside.differences(Paths::none(), MAX_DIFFERENCES).list {
                    self.learn_text(runs, difference.before, difference.after);
                }
            }
            self.learn_text(runs, difference.before, difference.after);
        }
    }

    /// What the protocol wants repeated.
    fn learn_repeated(&mut self, recorded: Value<'_>, live: Option<Value<'_>>, depth: usize) {
        if depth > MAX_DEPTH || !recorded.is_object() {
            return;
        }
        recorded.members(|name, value| {
            let name = name.decode();
            let now = live.and_then(|live| live.get(&name));
            match value.string().filter(|_| REPEATED.contains(&&*name)) {
                Some(text) => {
                    let now = now.and_then(Value::string).map(std::borrow::Cow::into_owned);
                    self.live.insert(text.into_owned(), now);
                }
                None => self.learn_repeated(value, now, depth + 1),
            }
        });
    }

    fn learn_text(&mut self, runs: &Runs, recorded: Option<Value<'_>>, live: Option<Value<'_>>) {
        let (Some(recorded), Some(live)) = (recorded.and_then(Value::string), live.and_then(Value::string))
        else {
            return;
        };
        if let Some((marker, secret)) = redacted(&recorded, &live) {
            self.live.insert(marker.to_owned(), Some(secret.to_owned()));
        } else if let Some(ids) = runs.made_up(&recorded, &live) {
            let ids = ids.into_iter().map(|(recorded, live)| (recorded.to_owned(), Some(live.to_owned())));
            self.live.extend(ids);
        } else if may_be_id(&recorded) && may_be_id(&live) {
            self.live.entry(recorded.into_owned()).or_insert_with(|| Some(live.into_owned()));
        }
    }

    /// What a request needs that there is not, if there is such.
    pub(super) fn lacks(&self, request: &[u8]) -> Option<&'static str> {
        let params = Value::parse(Envelope::scan(request).params?).ok()?;
        REPEATING.into_iter().find(|name| {
            let text = params.get(name).and_then(Value::string);
            text.is_some_and(|text| matches!(self.live.get(&*text), Some(None)))
        })
    }

    /// Whether a request repeats something that a server made up.
    pub(super) fn is_repeating(request: &[u8]) -> bool {
        let params = Envelope::scan(request).params.and_then(|params| Value::parse(params).ok());
        params.is_some_and(|params| REPEATING.into_iter().any(|name| params.get(name).is_some()))
    }

    /// A request as it is to be made now.
    pub(super) fn put_into(&self, request: Vec<u8>) -> Vec<u8> {
        if self.live.is_empty() {
            return request;
        }
        let edits = self.edits(&request).unwrap_or_default();
        if edits.is_empty() { request } else { splice(&request, &edits) }
    }

    fn edits(&self, request: &[u8]) -> Option<Vec<Edit>> {
        let params = Envelope::scan(request).params?;
        let start = (params.as_ptr() as usize).checked_sub(request.as_ptr() as usize)?;
        let mut lexer = Lexer::new(params);
        let mut edits = Vec::new();
        while let Ok(Some(lexeme)) = lexer.next_token() {
            if lexeme.token != Token::String {
                continue;
            }
            if let Some(now) = self.replaced(&lexeme.text(params).decode()) {
                let json = serde_json::to_vec(&now).expect("a string always serializes");
                edits.push((start + lexeme.start..start + lexeme.end, json));
            }
        }
        Some(edits)
    }

    /// A text with what the server makes up now, if that is another.
    fn replaced(&self, text: &str) -> Option<String> {
        if let Some(Some(live)) = self.live.get(text) {
            return (live != text).then(|| live.clone());
        }
        let edits = parts(text).into_iter().filter_map(|place| {
            let live = self.live.get(&text[place.clone()])?.as_ref()?;
            Some((place, live.clone().into_bytes()))
        });
        let edits: Vec<Edit> = edits.collect();
        let now = String::from_utf8(splice(text.as_bytes(), &edits)).ok()?;
        (now != text).then_some(now)
    }
}

/// The parts of a text that may be ids: what stands for a secret, and whole words.
fn parts(text: &str) -> Vec<Range<usize>> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[REDACTED:[^\]]*\]|[0-9A-Za-z_-]+").expect("the pattern is a pattern")
    });
    WORD.find_iter(text).map(|word| word.range()).collect()
}

fn may_be_id(text: &str) -> bool {
    let is_plain = || text.bytes().all(|byte| byte.is_ascii_graphic());
    ID_LENGTH.contains(&text.len()) && text.bytes().any(|byte| byte.is_ascii_digit()) && is_plain()
}

/// What stands now where a secret was taken out, if there was one.
fn redacted<'t>(recorded: &'t str, live: &'t str) -> Option<(&'t str, &'t str)> {
    let places = markers(recorded.as_bytes());
    let [place] = places.as_slice() else { return None };
    let (head, tail) = (recorded.get(..place.start)?, recorded.get(place.end..)?);
    let secret = live.strip_prefix(head)?.strip_suffix(tail)?;
    // Nobody knows which secret a mark means that is the same for all.
    let marker = recorded.get(place.clone()).filter(|marker| *marker != ANY_SECRET)?;
    Some((marker, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(recorded: &str, live: Option<&str>) -> Carried {
        let runs = Runs::default();
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let mut carried = Carried::default();
        carried.learn(&runs, answer(recorded).as_bytes(), live.map(answer).as_ref().map(String::as_bytes));
        carried
    }

    fn request(params: &str) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#).into_bytes()
    }

    #[test]
    fn what_the_server_makes_up_is_repeated() {
        let check = |recorded: &str, live: &str, params: &str, expected: &str| {
            let now = carried(recorded, Some(live)).put_into(request(params));
            assert_eq!(String::from_utf8(now).unwrap(), String::from_utf8(request(expected)).unwrap());
        };
        check(r#"{"nextCursor":"a"}"#, r#"{"nextCursor":"b\n"}"#, r#"{"cursor":"a"}"#, r#"{"cursor":"b\n"}"#);
        check(
            r#"{"task":{"taskId":"t"}}"#,
            r#"{"task":{"taskId":"u"}}"#,
            r#"{"taskId":"t"}"#,
            r#"{"taskId":"u"}"#,
        );
        check(
            r#"{"content":[{"text":"note n-17"}]}"#,
            r#"{"content":[{"text":"note n-18"}]}"#,
            r#"{"id":"n-17"}"#,
            r#"{"id":"n-17"}"#,
        );
        check(
            r#"{"id":"n-17"}"#,
            r#"{"id":"n-18"}"#,
            r#"{"uri":"note://n-17/x n-170"}"#,
            r#"{"uri":"note://n-18/x n-170"}"#,
        );
        check(
            r#"{"text":"{\"id\":\"n-17\"}"}"#,
            r#"{"text":"{\"id\":\"n-18\"}"}"#,
            r#"["n-17"]"#,
            r#"["n-18"]"#,
        );
        check(
            r#"{"t":"Your token is [REDACTED:x:ab]."}"#,
            r#"{"t":"Your token is s3cret."}"#,
            r#"{"header":"Bearer [REDACTED:x:ab]"}"#,
            r#"{"header":"Bearer s3cret"}"#,
        );
        check(r#"{"word":"hello"}"#, r#"{"word":"hullo"}"#, r#"{"say":"hello"}"#, r#"{"say":"hello"}"#);
    }

    #[test]
    fn what_was_never_made_is_lacked() {
        let never = carried(r#"{"nextCursor":"a"}"#, None);
        assert_eq!(never.lacks(&request(r#"{"cursor":"a"}"#)), Some("cursor"));
        assert_eq!(never.lacks(&request(r#"{"cursor":"b"}"#)), None);
        let otherwise = carried(r#"{"requestState":"a"}"#, Some("{}"));
        assert_eq!(otherwise.lacks(&request(r#"{"requestState":"a"}"#)), Some("requestState"));
        assert!(Carried::is_repeating(&request(r#"{"taskId":"a"}"#)));
        assert!(!Carried::is_repeating(&request(r#"{"id":"a"}"#)));
    }
}
