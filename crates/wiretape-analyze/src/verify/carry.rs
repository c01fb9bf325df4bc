//! What a server makes up and a client repeats: cursors, states, tasks, ids, tokens. A request that repeats a recorded one
//! must repeat the live one instead.

use crate::json_diff::{Alike, diff_beyond};
use crate::looks::Runs;
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

/// What these answer tells what a server is.
const SAYS_WHAT_IT_IS: [&str; 4] = ["initialize", "server/discover", "tools/list", "prompts/list"];

/// More differences of two results are not looked into.
const MAX_DIFFERENCES: usize = 100_000;

/// Deeper places are not looked into.
const MAX_DEPTH: usize = 16;

/// Texts that are JSON are looked into: many tools answer so.
static LOOK_INTO_TEXTS: LazyLock<Volatile> = LazyLock::new(Volatile::defaults);

/// What some programs put in the place of every secret.
const ANY_SECRET: &str = "[REDACTED]";

/// An id has so many characters.
const ID_LENGTH: std::ops::RangeInclusive<usize> = 4..=512;

/// A number of so many digits is one.
const MANY_DIGITS: usize = 6;

/// What was made up, recorded and live.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Ids, and what stands for secrets: what each is now.
    live: HashMap<String, String>,
    /// What the protocol wants repeated, in its own places: what it is now; `None` if the server was not asked for it, or answered
    /// otherwise.
    repeated: HashMap<String, Option<String>>,
}

impl Carried {
    /// A call of this method was answered, or was not made at all.
    pub(super) fn learn(&mut self, runs: &Runs, method: &str, recorded: &[u8], live: Option<&[u8]>) {
        let result = |message| Envelope::scan(message).result.and_then(|result| Value::parse(result).ok());
        let Some(recorded) = result(recorded) else { return };
        let live = live.and_then(result);
        self.learn_repeated(recorded, live, 0);
        // What a server says of itself and of its tools was written by somebody: a new version is no id.
        let Some(live) = live.filter(|_| !SAYS_WHAT_IT_IS.contains(&method)) else { return };
        let is_alike = |recorded: Value<'_>, live: Value<'_>| runs.may_have_become(recorded, live);
        let alike = Alike { is_alike: &is_alike, is_told: true };
        for difference in diff_beyond((recorded, live), Paths::none(), MAX_DIFFERENCES, alike).list {
            if let Some(inside) = difference.inside(LOOK_INTO_TEXTS.of(Part::Result)) {
                let found = inside.differences_beyond(Paths::none(), MAX_DIFFERENCES, Some(alike));
                for difference in found.list {
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
                    self.repeated.insert(text.into_owned(), now);
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
            self.live.insert(marker.to_owned(), secret.to_owned());
        } else if let Some(ids) = runs.made_up(&recorded, &live) {
            let ids = ids.into_iter().map(|(recorded, live)| (recorded.to_owned(), live.to_owned()));
            self.live.extend(ids);
        } else if may_be_id(&recorded) && may_be_id(&live) {
            self.live.entry(recorded.into_owned()).or_insert_with(|| live.into_owned());
        }
    }

    /// What a request needs that there is not, if there is such.
    pub(super) fn lacks(&self, request: &[u8]) -> Option<&'static str> {
        let params = Value::parse(Envelope::scan(request).params?).ok()?;
        REPEATING.into_iter().find(|name| {
            let text = params.get(name).and_then(Value::string);
            text.is_some_and(|text| matches!(self.repeated.get(&*text), Some(None)))
        })
    }

    /// Whether a request repeats something that a server made up.
    pub(super) fn is_repeating(request: &[u8]) -> bool {
        let params = Envelope::scan(request).params.and_then(|params| Value::parse(params).ok());
        params.is_some_and(|params| REPEATING.into_iter().any(|name| params.get(name).is_some()))
    }

    /// A request, or the answer to one, as it is to be made now.
    pub(super) fn put_into(&self, message: Vec<u8>) -> Vec<u8> {
        if self.live.is_empty() && self.repeated.is_empty() {
            return message;
        }
        let edits = self.edits(&message).unwrap_or_default();
        if edits.is_empty() { message } else { splice(&message, &edits) }
    }

    fn edits(&self, message: &[u8]) -> Option<Vec<Edit>> {
        let envelope = Envelope::scan(message);
        let params = envelope.params.or(envelope.result)?;
        let start = (params.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
        let mut lexer = Lexer::new(params);
        let mut edits = Vec::new();
        let mut is_repeating = false;
        while let Ok(Some(lexeme)) = lexer.next_token() {
            if lexeme.token == Token::Key {
                is_repeating = REPEATING.contains(&&*lexeme.text(params).decode());
                continue;
            }
            let is_repeating = std::mem::take(&mut is_repeating);
            if lexeme.token != Token::String {
                continue;
            }
            let text = lexeme.text(params).decode();
            let repeated = self.repeated.get(&*text).filter(|_| is_repeating);
            let now = match repeated.and_then(Option::as_ref) {
                Some(now) => Some(now.clone()).filter(|now| *now != *text),
                None => self.replaced(&text),
            };
            if let Some(now) = now {
                let json = serde_json::to_vec(&now).expect("a string always serializes");
                edits.push((start + lexeme.start..start + lexeme.end, json));
            }
        }
        Some(edits)
    }

    /// A text with what the server makes up now, if that is another.
    fn replaced(&self, text: &str) -> Option<String> {
        if let Some(live) = self.live.get(text) {
            return (live != text).then(|| live.clone());
        }
        let edits = parts(text).into_iter().filter_map(|place| {
            let live = self.live.get(&text[place.clone()])?;
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

/// Whether a text looks like an id: letters and digits mixed, or many digits. That a version is another now is no reason to ask
/// for another.
fn may_be_id(text: &str) -> bool {
    let is_plain = || text.bytes().all(|byte| byte.is_ascii_graphic());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = digits > 0 && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_number = digits >= MANY_DIGITS && digits == text.len();
    ID_LENGTH.contains(&text.len()) && (is_mixed || is_number) && is_plain()
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
        carried.learn(
            &runs,
            "tools/call",
            answer(recorded).as_bytes(),
            live.map(answer).as_ref().map(String::as_bytes),
        );
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
        check(r#"{"version":"1.0.0"}"#, r#"{"version":"1.1.0"}"#, r#"["1.0.0"]"#, r#"["1.0.0"]"#);
        check(
            r#"{"nextCursor":"10"}"#,
            r#"{"nextCursor":"20"}"#,
            r#"{"limit":"10","q":"top 10","cursor":"10"}"#,
            r#"{"limit":"10","q":"top 10","cursor":"20"}"#,
        );
        let (one, other) = ("0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002");
        check(
            &format!(r#"{{"notes":[{{"id":"x"}},{{"id":"{one}","title":"milk"}}]}}"#),
            &format!(r#"{{"notes":[{{"id":"x"}},{{"id":"{other}","title":"milk"}}]}}"#),
            &format!(r#"{{"id":"{one}"}}"#),
            &format!(r#"{{"id":"{other}"}}"#),
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
