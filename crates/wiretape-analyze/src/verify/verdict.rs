//! The results of a verification: a verdict per call, and the drift of definitions.

use super::script::Skip;
use crate::call::Outcome;
use crate::diff::{Answer, CallPayloads, Ignored, SideAlike, compare_beyond};
use crate::drift::{Change as Drifted, ChangeKind, Drift, Effect};
use crate::json_diff::{Alike, Difference, Differences};
use crate::looks::Runs;
use crate::volatile::{Part, Paths};
use std::fmt;
use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// How a live answer compares with the recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The answers are equal, except for ignored and generated values.
    Same,
    /// The answer differs from the recorded one.
    Changed,
    /// The answer is an error; the recorded one was not.
    NewError,
    /// The answer differs, but skipped calls may have changed the state that it reads. Says nothing about the server.
    Inconclusive {
        /// The number of skipped calls.
        skipped_writes: u64,
    },
    /// There is no answer.
    Missing(Missing),
    /// The answers are equal, but the live one took much longer.
    Slower,
    /// The call was not sent.
    Skipped(Skip),
}

/// Why an answer is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// No response came within the timeout.
    TimedOut,
    /// The server exited or closed the connection: the reason.
    Gone(String),
    /// A list has more pages, which can't be read: the reason.
    Rest(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::TimedOut => f.write_str("timed out"),
            Missing::Gone(reason) => f.write_str(reason),
            Missing::Rest(reason) => write!(f, "the list has more pages, which can't be read: {reason}"),
        }
    }
}

impl Verdict {
    /// The name, in text and JSON output.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Changed => "changed",
            Verdict::NewError => "new error",
            Verdict::Inconclusive { .. } => "inconclusive",
            Verdict::Missing(_) => "missing",
            Verdict::Slower => "slower",
            Verdict::Skipped(_) => "skipped",
        }
    }

    /// Whether the verification fails because of it. Calls that were skipped because the server was gone count, too.
    pub fn is_failure(&self) -> bool {
        match self {
            Verdict::Same | Verdict::Inconclusive { .. } => false,
            // These two are the server's doing: it exited, or it withdrew its promise that the tool only reads.
            Verdict::Skipped(skip) => matches!(skip, Skip::Gone | Skip::WritesNow),
            _ => true,
        }
    }
}

/// A call and its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The number of the call in the tape.
    pub call: u32,
    /// How the server's answer compares with the recorded one.
    pub verdict: Verdict,
    /// The differences in the answer and in the server's requests during the call.
    pub changes: Vec<Change>,
    /// Whether there are more differences than listed.
    pub more: bool,
    /// The server's error message, for [`Verdict::NewError`].
    pub error: Option<String>,
    /// The server's time for the live answer, in microseconds.
    pub took_us: Option<u64>,
    /// The server's time in the recording, in microseconds.
    pub recorded_us: Option<u64>,
}

/// A difference from the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The part of the message and the JSON pointer into it.
    pub place: String,
    /// The recorded value, as JSON; `None` if there was none.
    pub before: Option<Vec<u8>>,
    /// The live value, as JSON; `None` if there is none.
    pub after: Option<Vec<u8>>,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The calls, in the order of their requests.
    pub calls: Vec<Checked>,
    /// The changes of the server's definitions.
    pub drift: Drift,
}

/// Which definition changes count as failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offers {
    /// Every change counts, also of a description.
    #[default]
    Any,
    /// Changes that break existing callers.
    Breaking,
    /// No change of a definition counts.
    None,
}

impl Offers {
    /// Whether a change counts. A new server version never does: it is why one verifies.
    pub fn count(self, change: &Drifted) -> bool {
        match self {
            _ if change.kind == ChangeKind::ServerInfo => false,
            Offers::Any => true,
            Offers::Breaking => change.effect == Effect::Breaking,
            Offers::None => false,
        }
    }
}

impl Verified {
    /// Whether the verification failed.
    pub fn is_failure(&self, offers: Offers) -> bool {
        self.calls.iter().any(|call| call.verdict.is_failure())
            || self.drift.changes.iter().any(|change| offers.count(change))
    }

    /// The number of calls per verdict.
    pub fn counts(&self) -> [(&'static str, u64); 7] {
        let names = ["same", "changed", "new error", "inconclusive", "missing", "slower", "skipped"];
        names.map(|name| {
            let calls = self.calls.iter().filter(|call| call.verdict.name() == name);
            (name, calls.count() as u64)
        })
    }
}

/// Compares the server's messages with the recorded ones, without volatile values.
#[derive(Debug)]
pub(super) struct Judge<'j> {
    pub(super) ignored: &'j Ignored,
    pub(super) runs: &'j Runs,
}

/// Differences reported per message.
const MAX_CHANGES: usize = 100;

/// Bytes of a value that are reported; longer ones are cut.
const MAX_VALUE: usize = 16 * 1024;

/// The differences between two messages.
#[derive(Debug, Default)]
pub(super) struct MessageDiff {
    pub(super) changes: Vec<Change>,
    pub(super) more: bool,
}

impl Judge<'_> {
    /// The differences between two answers to a method.
    pub(super) fn answers(&self, method: &str, recorded: &[u8], live: &[u8]) -> MessageDiff {
        // Requests are equal by construction, apart from substituted values; only the answers are compared.
        let payloads = |response| CallPayloads { request: b"{}", response: Some(response) };
        let is_alike = |recorded: Value<'_>, live: Value<'_>| self.runs.may_have_become(recorded, live);
        let alike = Alike { is_alike: &is_alike, is_reported: false };
        let both = (payloads(recorded), payloads(live));
        match compare_beyond(self.ignored, method, both, SideAlike::both(alike)).answer {
            Answer::Alike(part, found) => {
                message_diff(part.name(), &found, self.ignored.of(method, part), alike)
            }
            Answer::Other { before, after } => {
                let raw = |side: Option<(Part, Value<'_>)>| {
                    side.map(|(part, value)| {
                        [b"{\"", part.name().as_bytes(), b"\":", value.raw, b"}"].concat()
                    })
                };
                let change = Change {
                    place: "answer".to_owned(),
                    before: raw(before).map(shortened),
                    after: raw(after).map(shortened),
                };
                MessageDiff { changes: vec![change], more: false }
            }
        }
    }

    /// The differences between two server requests.
    pub(super) fn questions(&self, method: &str, recorded: &[u8], live: &[u8]) -> MessageDiff {
        let request = |request| CallPayloads { request, response: None };
        let is_alike = |recorded: Value<'_>, live: Value<'_>| self.runs.may_have_become(recorded, live);
        let alike = Alike { is_alike: &is_alike, is_reported: false };
        let both = (request(recorded), request(live));
        let found = compare_beyond(self.ignored, method, both, SideAlike::both(alike)).params;
        message_diff(&format!("{method} params"), &found, self.ignored.of(method, Part::Params), alike)
    }
}

fn message_diff(place: &str, found: &Differences<'_>, paths: &Paths, alike: Alike<'_>) -> MessageDiff {
    let mut shown = MessageDiff { changes: Vec::new(), more: found.more };
    for difference in &found.list {
        match difference.inside(paths) {
            Some(inside) => {
                let found = inside.differences_beyond(paths, MAX_CHANGES, Some(alike));
                let within = format!("{place}{} in JSON: ", difference.pointer);
                shown.changes.extend(found.list.iter().map(|difference| change(&within, difference)));
                shown.more |= found.more;
            }
            None => shown.changes.push(change(place, difference)),
        }
    }
    shown.more |= shown.changes.len() > MAX_CHANGES;
    shown.changes.truncate(MAX_CHANGES);
    shown
}

fn change(place: &str, difference: &Difference<'_>) -> Change {
    let raw = |value: Option<Value<'_>>| value.map(|value| shortened(value.raw.to_vec()));
    Change {
        place: format!("{place}{}", difference.pointer),
        before: raw(difference.before),
        after: raw(difference.after),
    }
}

/// A value; a long one is cut and wrapped in a string, so that it stays valid JSON.
fn shortened(json: Vec<u8>) -> Vec<u8> {
    if json.len() <= MAX_VALUE {
        return json;
    }
    let beginning = String::from_utf8_lossy(&json[..MAX_VALUE]);
    serde_json::to_vec(&format!("{beginning}…")).expect("serializing a string to memory can't fail")
}

/// The verdict for two answers and their differences.
pub(super) fn verdict(recorded: &[u8], live: &[u8], found: &MessageDiff) -> Verdict {
    let failed = |message| Outcome::of_response(&Envelope::scan(message)).is_error();
    // A recorded error that is still one is compared like any answer: the test may be about that error.
    if failed(live) && !failed(recorded) {
        return Verdict::NewError;
    }
    if found.changes.is_empty() && !found.more { Verdict::Same } else { Verdict::Changed }
}

/// The text of an error: its message, or the first text of a result with `isError`.
pub(super) fn error_text(answer: &[u8]) -> Option<String> {
    /// Characters that are kept.
    const LONG: usize = 500;
    let envelope = Envelope::scan(answer);
    let text = match (envelope.error, envelope.result) {
        (Some(error), _) => Value::parse(error).ok()?.get("message")?.string()?.into_owned(),
        (None, result) => {
            let content = Value::parse(result?).ok()?.get("content")?;
            let mut texts = Vec::new();
            content.elements(|block| texts.extend(block.get("text").and_then(Value::string)));
            texts.into_iter().next()?.into_owned()
        }
    };
    Some(text.chars().take(LONG).collect())
}
