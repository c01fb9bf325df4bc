//! Recognizes values that differ from run to run: timestamps of the run itself, and generated ids. [`crate::volatile`]
//! knows such values by their path, this module by their form. [`crate::diff`] and [`crate::verify`] ignore both.
//!
//! Ignoring too much hides regressions, ignoring too little makes every run fail. So a form alone is never enough:
//!
//! - A UUID is an id. Any other word is one only if it looks random and the recorded client repeats it in a later request.
//! - A timestamp is ignored only if both values lie within their own runs: an appointment that moved is a change, although
//!   both values are timestamps.
//! - A timestamp without a zone is compared modulo 15 minutes, because every zone's offset is a multiple of that.
//!
//! One regular expression finds all forms in a single pass; its alternatives are ordered from specific to general, so that
//! a date is not taken for a word.

use crate::replay::may_have_been;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::{Captures, Regex};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;
use wiretape_trace::json::{Lexer, Token as JsonToken};
use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// Milliseconds. Clocks of client and server may differ, and a timestamp may be taken before the first message.
const SLACK_MS: i64 = 2 * 60 * 1000;

/// Milliseconds. No zone is further than 14 hours from UTC.
const ZONES_MS: i64 = 15 * 60 * 60 * 1000;

/// Milliseconds. All zone offsets are multiples of this.
const QUARTER_MS: i64 = 15 * 60 * 1000;

/// Milliseconds. Tighter than [`SLACK_MS`], because modulo 15 minutes much matches by chance.
const CLOCK_SLACK_MS: i64 = 60 * 1000;

static GENERATED: LazyLock<Regex> = LazyLock::new(|| {
    let day = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
    let month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
    let patterns = [
        r"(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)".to_owned(),
        r"(?P<iso>\b(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?)"
            .to_owned(),
        // JavaScript's Date.toString: Mon Nov 16 2026 21:00:00 GMT+0000.
        format!(
            r"(?P<browser>\b{day} ({month}) (\d{{1,2}}) (\d{{4}}) (\d\d):(\d\d):(\d\d)(?: GMT([+-]\d{{4}}))?)"
        ),
        // HTTP and mail (RFC 9110, RFC 5322): Mon, 16 Nov 2026 21:00:00 GMT.
        format!(r"(?P<mail>\b{day}, (\d{{1,2}}) ({month}) (\d{{4}}) (\d\d):(\d\d):(\d\d) (GMT|[+-]\d{{4}}))"),
        r"(?P<local>\b\d{1,2}[/.]\d{1,2}[/.]\d{4},? (\d{1,2}):(\d\d):(\d\d))".to_owned(),
        r"(?P<clock>\b(\d{1,2}):(\d\d):(\d\d)\b)".to_owned(),
        r"(?P<epoch>\b\d{10}(?:\d{3}){0,3}\b)".to_owned(),
        r"(?P<word>\b[0-9A-Za-z][0-9A-Za-z_-]{5,})".to_owned(),
    ];
    Regex::new(&patterns.join("|")).expect("the patterns are constants, compiled by this module's tests")
});

/// Two runs of the same requests: the time ranges of the recorded and the live one, in milliseconds since 1970, and the
/// words in the recorded requests that may be ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) recorded: Range<i64>,
    pub(crate) live: Range<i64>,
    pub(crate) repeated: HashSet<String>,
}

/// Bounds the memory: a trace may repeat arbitrarily many ids.
const MAX_WORDS: usize = 100_000;

/// A part of a text that may be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'t> {
    text: &'t str,
    start: usize,
    kind: ValueForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    Id,
    /// A word that looks random.
    Word,
    /// A point in time with a zone, in milliseconds since 1970.
    Time {
        ms: i64,
    },
    /// A date and time without a zone.
    Local {
        ms: i64,
    },
    /// A time of day without a date.
    Clock {
        ms: i64,
    },
}

impl Runs {
    /// Remembers the possible ids in a recorded request.
    pub(crate) fn remember_request(&mut self, request: &[u8]) {
        remember_ids(&mut self.repeated, request);
    }

    /// Whether a live value matches a recorded one that was redacted or is generated in each run.
    pub(crate) fn may_have_become(&self, recorded: Value<'_>, live: Value<'_>) -> bool {
        may_have_been(recorded, live) || self.are_alike(recorded, live)
    }

    /// Whether two values are equal except for generated parts.
    pub(crate) fn are_alike(&self, recorded: Value<'_>, live: Value<'_>) -> bool {
        if let (Some(recorded), Some(live)) = (recorded.string(), live.string()) {
            return self.generated_ids(&recorded, &live).is_some() || self.are_alike_inside(&recorded, &live);
        }
        match (epoch_of(recorded), epoch_of(live)) {
            (Some(recorded), Some(live)) => self.is_of_the_run(recorded, live),
            _ => false,
        }
    }

    /// Whether two texts are equal except for generated parts once decoded from Base64, such as resource blobs.
    fn are_alike_inside(&self, recorded: &str, live: &str) -> bool {
        let decoded = |text: &str| STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let texts = decoded(recorded).zip(decoded(live));
        texts.is_some_and(|(recorded, live)| self.generated_ids(&recorded, &live).is_some())
    }

    /// The ids in which two texts differ; `None` if they also differ in something that is not generated.
    pub(crate) fn generated_ids<'t>(
        &self,
        recorded: &'t str,
        live: &'t str,
    ) -> Option<Vec<(&'t str, &'t str)>> {
        let (ours, theirs) = (tokens(recorded), tokens(live));
        // Tokens are paired by position, so a different number means that something else changed, too.
        if ours.len() != theirs.len() {
            return None;
        }
        let mut ids = Vec::new();
        let (mut from, mut to) = (0, 0);
        for (one, other) in ours.iter().zip(&theirs) {
            // The text between two tokens is not generated and must be equal.
            if recorded[from..one.start] != live[to..other.start] {
                return None;
            }
            if one.text != other.text {
                let are_words = one.kind == ValueForm::Word && other.kind == ValueForm::Word;
                // Only the recorded word has to be repeated by the client: the live one is new by definition.
                let is_repeated = are_words && self.repeated.contains(one.text);
                if !is_repeated && !self.is_of_the_run(one.kind, other.kind) {
                    return None;
                }
                if matches!(one.kind, ValueForm::Id | ValueForm::Word) {
                    ids.push((one.text, other.text));
                }
            }
            (from, to) = (one.start + one.text.len(), other.start + other.text.len());
        }
        (recorded[from..] == live[to..]).then_some(ids)
    }

    fn is_of_the_run(&self, recorded: ValueForm, live: ValueForm) -> bool {
        match (recorded, live) {
            (ValueForm::Id, ValueForm::Id) => true,
            (ValueForm::Time { ms: one }, ValueForm::Time { ms: other }) => {
                is_within(one, &self.recorded, SLACK_MS) && is_within(other, &self.live, SLACK_MS)
            }
            (ValueForm::Local { ms: one }, ValueForm::Local { ms: other }) => {
                // Both: within a day because the zone is unknown, and at the right minute because no zone shifts
                // minutes arbitrarily.
                let is_now = |ms, run| is_within(ms, run, ZONES_MS) && occurs_during(ms, run);
                is_now(one, &self.recorded) && is_now(other, &self.live)
            }
            (ValueForm::Clock { ms: one }, ValueForm::Clock { ms: other }) => {
                occurs_during(one, &self.recorded) && occurs_during(other, &self.live)
            }
            _ => false,
        }
    }
}

/// Adds the possible ids in a request to `words`.
pub(crate) fn remember_ids(words: &mut HashSet<String>, request: &[u8]) {
    if words.len() < MAX_WORDS {
        words.extend(ids(request));
    }
}

/// The possible ids in the params of a request.
pub(crate) fn ids(request: &[u8]) -> Vec<String> {
    let Some(params) = Envelope::scan(request).params else { return Vec::new() };
    let mut lexer = Lexer::new(params);
    let mut ids = Vec::new();
    while let Ok(Some(lexeme)) = lexer.next_token() {
        // No id has fewer than two digits and most strings do, so most are neither decoded nor searched.
        if lexeme.token == JsonToken::String && has_two_digits(lexeme.bytes(params)) {
            let text = lexeme.text(params).decode();
            let found = tokens(&text)
                .into_iter()
                .filter(|token| matches!(token.kind, ValueForm::Id | ValueForm::Word));
            ids.extend(found.map(|token| token.text.to_owned()));
        }
    }
    ids
}

fn has_two_digits(text: &[u8]) -> bool {
    text.iter().filter(|byte| byte.is_ascii_digit()).nth(1).is_some()
}

fn is_within(ms: i64, run: &Range<i64>, slack_ms: i64) -> bool {
    (run.start.saturating_sub(slack_ms)..=run.end.saturating_add(slack_ms)).contains(&ms)
}

/// Whether this time of day occurred during a run, in some zone.
fn occurs_during(ms: i64, run: &Range<i64>) -> bool {
    let first = run.start - CLOCK_SLACK_MS;
    let length = run.end + CLOCK_SLACK_MS - first;
    (ms - first).rem_euclid(QUARTER_MS) <= length
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let found = GENERATED.captures_iter(text);
    found.filter_map(|captures| token(&captures)).collect()
}

fn token<'t>(captures: &Captures<'t>) -> Option<Token<'t>> {
    let whole = captures.get(0)?;
    // Only one alternative matches, so the groups that are present are its own, in order; the named group is the
    // whole text and left out. So each form finds its numbers at fixed indices.
    let groups: Vec<&str> = captures
        .iter()
        .skip(1)
        .flatten()
        .map(|group| group.as_str())
        .filter(|text| *text != whole.as_str())
        .collect();
    let number = |at: usize| groups.get(at).and_then(|text| text.parse::<i64>().ok());
    let has = |name: &str| captures.name(name).is_some();
    let kind = if has("uuid") {
        ValueForm::Id
    } else if has("word") {
        if !is_random(whole.as_str()) {
            return None;
        }
        ValueForm::Word
    } else if has("epoch") {
        epoch(whole.as_str().parse().ok()?)?
    } else if has("clock") || has("local") {
        ValueForm::Clock { ms: seconds(number(0)?, number(1)?, number(2)?) * 1000 }
    } else {
        let (date, time, zone) = if has("iso") {
            let is_whole = number(5).is_some();
            let time = seconds(number(3)?, number(4)?, number(5).unwrap_or(0));
            ((number(0)?, number(1)?, number(2)?), time, groups.get(if is_whole { 6 } else { 5 }))
        } else if has("browser") {
            let time = seconds(number(3)?, number(4)?, number(5)?);
            ((number(2)?, month(groups.first()?)?, number(1)?), time, groups.get(6))
        } else {
            let time = seconds(number(3)?, number(4)?, number(5)?);
            ((number(2)?, month(groups.get(1)?)?, number(0)?), time, groups.get(6))
        };
        let local_ms = (days(date) * 86_400 + time) * 1000;
        match zone {
            Some(zone) => ValueForm::Time { ms: local_ms - offset_seconds(zone) * 1000 },
            None => ValueForm::Local { ms: local_ms },
        }
    };
    Some(Token { text: whole.as_str(), start: whole.start(), kind })
}

/// Whether a word looks random: many digits, or letters and digits mixed.
fn is_random(word: &str) -> bool {
    word.split(['-', '_']).any(|part| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        // Words such as `utf8`, `sha256` and `base64` are not ids; `a1b2c3d4` and `20261116` may be.
        digits >= 6 || (part.len() >= 8 && digits >= 2 && digits < part.len())
    })
}

fn seconds(hours: i64, minutes: i64, seconds: i64) -> i64 {
    hours * 3600 + minutes * 60 + seconds
}

fn month(name: &str) -> Option<i64> {
    let names = "JanFebMarAprMayJunJulAugSepOctNovDec";
    names.find(name).and_then(|at| i64::try_from(at / 3 + 1).ok())
}

/// `Z`, `GMT`, `+01:00`, `-0500`.
fn offset_seconds(zone: &str) -> i64 {
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let Ok(number) = digits.parse::<i64>() else { return 0 };
    let offset = seconds(number / 100, number % 100, 0);
    if zone.starts_with('-') { -offset } else { offset }
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days((year, month, day): (i64, i64, i64)) -> i64 {
    // Years start in March here, so that the leap day is the last day of a year.
    let year = if month <= 2 { year - 1 } else { year };
    let since_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // The days of the months from March on follow a line of slope 153/5, rounded; 719,468 days lie between March 1 of
    // year 0 and 1970.
    year * 365 + leap_days + (153 * since_march + 2) / 5 + day - 1 - 719_468
}

/// A number that may be a timestamp: seconds, milli-, micro- or nanoseconds since 1970, by its digits.
fn epoch_of(value: Value<'_>) -> Option<ValueForm> {
    if !value.is_number() {
        return None;
    }
    let text = std::str::from_utf8(value.raw).ok()?;
    let (whole, _) = text.split_once('.').unwrap_or((text, ""));
    epoch(whole.parse().ok()?)
}

fn epoch(number: i64) -> Option<ValueForm> {
    // The number of digits gives the unit for all times from 2001 to 2286.
    let ms = match number.checked_ilog10()? {
        9 => number.checked_mul(1000)?,
        12 => number,
        15 => number / 1000,
        18 => number / 1_000_000,
        _ => return None,
    };
    Some(ValueForm::Time { ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded on 2026-05-12 at 23:00:00 for a minute, sent again on 2026-11-16 at 21:07:10 for ten seconds.
    fn runs() -> Runs {
        let (recorded, live) = (1_778_626_800_000..1_778_626_860_000, 1_794_863_230_000..1_794_863_240_000);
        Runs { recorded, live, repeated: HashSet::new() }
    }

    #[test]
    fn times_of_the_run_and_ids_are_made_up() {
        let check = |recorded: &str, live: &str, expected: bool| {
            assert_eq!(runs().generated_ids(recorded, live).is_some(), expected, "{recorded} | {live}");
        };
        check("at 2026-05-12T23:00:03.5Z", "at 2026-11-16T21:07:12Z", true);
        check("2026-05-13T01:00:03+02:00", "2026-11-16 22:07:12+0100", true);
        check("2026-05-13 09:00", "2026-11-16 12:07", true);
        check("2026-05-12T23:00:03Z", "2026-11-17T21:07:12Z", false);
        check("2026-05-12T23:10:00Z", "2026-11-16T21:50:00Z", false);
        check("2026-05-13T02:00:00", "2026-11-16T23:10:00", false);
        check("2026-04-01T10:00:00Z", "2026-04-01T11:00:00Z", false);
        check("Tue May 12 2026 23:00:03 GMT+0000", "Mon Nov 16 2026 21:07:12 GMT+0000", true);
        check("Tue, 12 May 2026 23:00:03 GMT", "Mon, 16 Nov 2026 21:07:12 GMT", true);
        check("Tue, 12 May 2026 23:00:03 GMT", "Mon, 16 Nov 2026 17:07:12 GMT", false);
        check("created at 7:30:15 PM.", "created at 9:07:13 PM.", true);
        check("opens at 09:10:00", "opens at 10:10:00", false);
        check("5/12/2026, 11:00:10 PM", "11/16/2026, 9:07:12 PM", true);
        check("t=1778626801", "t=1794863231", true);
        check("t=1778626801000", "t=1794863231", true);
        check("t=1234567890", "t=1234567891", false);
        check("id 6b1f0e5e-8f5a-4a53-9d0c-0f6f1a2b3c4d", "id 00000000-8f5a-4a53-9d0c-0f6f1a2b3c4d", true);
        check("id 6b1f0e5e-8f5a-4a53-9d0c-0f6f1a2b3c4d", "no 00000000-8f5a-4a53-9d0c-0f6f1a2b3c4d", false);
        check("3 files", "4 files", false);
        check("same", "same", true);
        check("", "x", false);
    }

    #[test]
    fn numbers_are_times_of_the_run() {
        let check = |recorded: &str, live: &str, expected: bool| {
            let value = |text: &'static str| Value::parse(text.as_bytes()).unwrap();
            let (recorded, live) = (recorded.to_owned().leak(), live.to_owned().leak());
            assert_eq!(runs().are_alike(value(recorded), value(live)), expected, "{recorded} {live}");
        };
        check("1778626801", "1794863231", true);
        check("1778626801.25", "1794863231.5", true);
        check("1778626801000", "1794863231000", true);
        check("1778626801", "1778626802", false);
        check("1", "2", false);
        check("null", "2", false);
        check("-5", "0", false);
    }

    #[test]
    fn base64_is_looked_into() {
        let check = |recorded: &str, live: &str, expected: bool| {
            let json = |text: &str| format!("\"{}\"", STANDARD.encode(text)).into_bytes();
            let (recorded, live) = (json(recorded), json(live));
            let alike = runs().are_alike(Value::parse(&recorded).unwrap(), Value::parse(&live).unwrap());
            assert_eq!(alike, expected);
        };
        check("made at 23:00:10", "made at 21:07:11", true);
        check("made by Ada", "made by Eve", false);
    }

    #[test]
    fn the_ids_are_told() {
        let (one, other) = ("a6b1f0e5-8f5a-4a53-9d0c-0f6f1a2b3c4d", "b6b1f0e5-8f5a-4a53-9d0c-0f6f1a2b3c4d");
        let (recorded, live) = (format!("note {one} at 23:00:10"), format!("note {other} at 21:07:11"));
        assert_eq!(runs().generated_ids(&recorded, &live), Some(vec![(one, other)]));
    }

    #[test]
    fn what_the_client_repeats_is_an_id() {
        let mut runs = runs();
        runs.remember_request(br#"{"id":1,"method":"m","params":{"note":"note-4c72e3a57d23","city":"Lisbon","day":"2026-05-12"}}"#);
        let check = |recorded: &str, live: &str, expected: bool| {
            assert_eq!(runs.generated_ids(recorded, live).is_some(), expected, "{recorded} | {live}");
        };
        check("made note-4c72e3a57d23.", "made note-0a8b7c6d5e4f.", true);
        check("made note-4c72e3a57d23.", "made nothing.", false);
        check("made note-0000e3a57d23.", "made note-0a8b7c6d5e4f.", false);
        check("Lisbon", "Madrid", false);
        check("2026-05-12", "2026-05-13", false);
    }

    #[test]
    fn dates_are_days() {
        assert_eq!(days((1970, 1, 1)), 0);
        assert_eq!(days((2000, 2, 29)), 11_016);
        assert_eq!(days((2026, 11, 16)), 20_773);
    }
}
