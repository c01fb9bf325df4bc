//! Generated values that a client repeats: cursors, request states, task ids, other ids and tokens. Where a recorded request
//! repeats a recorded value, the live request has to repeat the live one.
//!
//! A wrong substitution would send a call to another object than intended, so values are learned only from members that the
//! protocol defines to be repeated, from values that look generated in both answers, and from redaction markers.

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

/// Members of results that clients repeat by protocol.
const REPEATED: [&str; 3] = ["nextCursor", "requestState", "taskId"];

/// Members of requests that repeat them.
const REPEATING: [&str; 3] = ["cursor", "requestState", "taskId"];

/// Methods whose results are written by the server's author, not generated.
const DEFINITION_METHODS: [&str; 4] = ["initialize", "server/discover", "tools/list", "prompts/list"];

/// Differences between two results that are examined.
const MAX_DIFFERENCES: usize = 100_000;

/// Levels of nesting that are searched for repeated members.
const MAX_DEPTH: usize = 16;

/// Strings that hold JSON are parsed: many tools return their result that way.
static LOOK_INTO_TEXTS: LazyLock<Volatile> = LazyLock::new(Volatile::defaults);

/// The marker of programs that use the same one for every secret.
const ANY_SECRET: &str = "[REDACTED]";

/// The length of an id, in bytes.
const ID_LENGTH: std::ops::RangeInclusive<usize> = 4..=512;

/// Digits from which on a number may be an id.
const MANY_DIGITS: usize = 6;

/// Recorded values and their live counterparts.
#[derive(Debug, Default)]
pub(super) struct CarriedValues {
    /// Live values by recorded id or redaction marker.
    live: HashMap<String, String>,
    /// Live values by recorded value, for the members that the protocol defines; `None` if the call was skipped or its
    /// result has no such value.
    repeated: HashMap<String, Option<String>>,
}

impl CarriedValues {
    /// Learns from an answer. `live` is `None` if the call was skipped or not answered.
    pub(super) fn learn(&mut self, runs: &Runs, method: &str, recorded: &[u8], live: Option<&[u8]>) {
        let result = |message| Envelope::scan(message).result.and_then(|result| Value::parse(result).ok());
        let Some(recorded) = result(recorded) else { return };
        let live = live.and_then(result);
        // Also without a live answer: then the recorded value is known to have no counterpart, and requests that
        // repeat it are skipped instead of sent with a cursor of another run.
        self.learn_repeated(recorded, live, 0);
        // Definitions are written by people: a new version number must not be taken for an id.
        let Some(live) = live.filter(|_| !DEFINITION_METHODS.contains(&method)) else { return };
        let is_alike = |recorded: Value<'_>, live: Value<'_>| runs.may_have_become(recorded, live);
        let alike = Alike { is_alike: &is_alike, is_reported: true };
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

    /// Learns the members that the protocol defines.
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
                // Only where the protocol puts them is a string a cursor or state; the recursion is for `task.taskId`
                // and the like.
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
        } else if let Some(ids) = runs.generated_ids(&recorded, &live) {
            let ids = ids.into_iter().map(|(recorded, live)| (recorded.to_owned(), live.to_owned()));
            self.live.extend(ids);
        } else if may_be_id(&recorded) && may_be_id(&live) {
            // A guess by form, so it never replaces a value that was learned with better evidence.
            self.live.entry(recorded.into_owned()).or_insert_with(|| live.into_owned());
        }
    }

    /// The member of a request whose live value is unknown, if there is one.
    pub(super) fn lacks(&self, request: &[u8]) -> Option<&'static str> {
        let params = Value::parse(Envelope::scan(request).params?).ok()?;
        REPEATING.into_iter().find(|name| {
            let text = params.get(name).and_then(Value::string);
            text.is_some_and(|text| matches!(self.repeated.get(&*text), Some(None)))
        })
    }

    /// Whether a request has a member that repeats a server's value.
    pub(super) fn is_repeating(request: &[u8]) -> bool {
        let params = Envelope::scan(request).params.and_then(|params| Value::parse(params).ok());
        params.is_some_and(|params| REPEATING.into_iter().any(|name| params.get(name).is_some()))
    }

    /// Replaces recorded values by live ones in a message.
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
            // Applies to the value right after the key only.
            let is_repeating = std::mem::take(&mut is_repeating);
            if lexeme.token != Token::String {
                continue;
            }
            let text = lexeme.text(params).decode();
            let repeated = self.repeated.get(&*text).filter(|_| is_repeating);
            let now = match repeated.and_then(Option::as_ref) {
                // Unchanged values are not edits: the message keeps its exact bytes.
                Some(now) => Some(now.clone()).filter(|now| *now != *text),
                None => self.replaced(&text),
            };
            if let Some(now) = now {
                let json = serde_json::to_vec(&now).expect("serializing a string to memory can't fail");
                edits.push((start + lexeme.start..start + lexeme.end, json));
            }
        }
        Some(edits)
    }

    /// A text with recorded values replaced; `None` if it stays the same.
    fn replaced(&self, text: &str) -> Option<String> {
        // The whole text first: a marker or id may contain characters that end a word.
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

/// The parts of a text that may be ids: redaction markers and whole words. Replacing parts of words would corrupt others.
fn parts(text: &str) -> Vec<Range<usize>> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[REDACTED:[^\]]*\]|[0-9A-Za-z_-]+")
            .expect("the pattern is a constant, compiled by the tests")
    });
    WORD.find_iter(text).map(|word| word.range()).collect()
}

/// Whether a text looks like an id: letters and digits mixed, or many digits. A version such as `1.1.0` must
/// not: a changed version must not change the requests.
fn may_be_id(text: &str) -> bool {
    let is_plain = || text.bytes().all(|byte| byte.is_ascii_graphic());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = digits > 0 && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_number = digits >= MANY_DIGITS && digits == text.len();
    ID_LENGTH.contains(&text.len()) && (is_mixed || is_number) && is_plain()
}

/// The redaction marker in a recorded text, and the live value in its place.
fn redacted<'t>(recorded: &'t str, live: &'t str) -> Option<(&'t str, &'t str)> {
    let places = markers(recorded.as_bytes());
    let [place] = places.as_slice() else { return None };
    let (head, tail) = (recorded.get(..place.start)?, recorded.get(place.end..)?);
    let secret = live.strip_prefix(head)?.strip_suffix(tail)?;
    // A marker that is the same for all secrets doesn't identify one.
    let marker = recorded.get(place.clone()).filter(|marker| *marker != ANY_SECRET)?;
    Some((marker, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(recorded: &str, live: Option<&str>) -> CarriedValues {
        let runs = Runs::default();
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let mut carried = CarriedValues::default();
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
        assert!(CarriedValues::is_repeating(&request(r#"{"taskId":"a"}"#)));
        assert!(!CarriedValues::is_repeating(&request(r#"{"id":"a"}"#)));
    }
}
