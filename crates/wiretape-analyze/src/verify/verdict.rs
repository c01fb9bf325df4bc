//! What became of the calls that were made again.

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

/// How the answer to a call compares with the recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is the same.
    Same,
    /// It is another.
    Changed,
    /// It is an error, and was none.
    NewError,
    /// It is another, but so many calls before it were skipped that may have changed what it reads. Says nothing of the server.
    Inconclusive {
        /// How many.
        skipped_writes: u64,
    },
    /// There is none.
    Missing(Missing),
    /// It is the same, and takes much longer.
    Slower,
    /// The call was not made.
    Skipped(Skip),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It took too long.
    TimedOut,
    /// The server went away.
    Gone(String),
    /// It is a list that goes on, and the rest of it can't be read.
    Rest(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::TimedOut => f.write_str("no answer in time"),
            Missing::Gone(reason) => f.write_str(reason),
            Missing::Rest(reason) => write!(f, "the list goes on, and the rest can't be read: {reason}"),
        }
    }
}

impl Verdict {
    /// Its name, for people and other programs.
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

    /// Whether the server does not do what it did. What the server was not asked for because it was gone tells against it, too.
    pub fn is_failure(&self) -> bool {
        match self {
            Verdict::Same | Verdict::Inconclusive { .. } => false,
            Verdict::Skipped(skip) => matches!(skip, Skip::Gone | Skip::WritesNow),
            _ => true,
        }
    }
}

/// A call, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The number of the call in the tape.
    pub call: u32,
    /// What became of it.
    pub verdict: Verdict,
    /// What is another: in the answer, and in what the server asked meanwhile.
    pub changes: Vec<Change>,
    /// Whether there are more.
    pub more: bool,
    /// What the server says in words, if it answers with an error and did not before.
    pub error: Option<String>,
    /// Microseconds that the server took, if it answered.
    pub took_us: Option<u64>,
    /// Microseconds that it took when it was recorded.
    pub recorded_us: Option<u64>,
}

/// Something that is another than was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where: the part of the message, and the JSON pointer in it.
    pub place: String,
    /// What was recorded there, as JSON; `None` if nothing was.
    pub before: Option<Vec<u8>>,
    /// What is there now.
    pub after: Option<Vec<u8>>,
}

/// All that came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The calls, in the order of their requests.
    pub calls: Vec<Checked>,
    /// What has become of what the server offers.
    pub drift: Drift,
}

/// Which changes of what a server offers count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offers {
    /// All.
    #[default]
    Any,
    /// Those that break who calls.
    Breaking,
    /// None.
    None,
}

impl Offers {
    /// Whether a change counts. That a server has a new version is why it is looked at.
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
    /// Whether the server does not do or offer what it did.
    pub fn is_failure(&self, offers: Offers) -> bool {
        self.calls.iter().any(|call| call.verdict.is_failure())
            || self.drift.changes.iter().any(|change| offers.count(change))
    }

    /// How many calls there are of each verdict, by its name.
    pub fn counts(&self) -> [(&'static str, u64); 7] {
        let names = ["same", "changed", "new error", "inconclusive", "missing", "slower", "skipped"];
        names.map(|name| {
            let calls = self.calls.iter().filter(|call| call.verdict.name() == name);
            (name, calls.count() as u64)
        })
    }
}

/// How answers are compared.
#[derive(Debug)]
pub(super) struct Judge<'j> {
    pub(super) ignored: &'j Ignored,
    pub(super) runs: &'j Runs,
}

/// So many differences of a message are told.
const MAX_CHANGES: usize = 100;

/// Longer values are told by their beginning.
const MAX_VALUE: usize = 16 * 1024;

/// The differences of two messages.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) changes: Vec<Change>,
    pub(super) more: bool,
}

impl Judge<'_> {
    /// How the answer to a call of this method differs from the recorded one.
    pub(super) fn answers(&self, method: &str, recorded: &[u8], live: &[u8]) -> Found {
        let payloads = |response| CallPayloads { request: b"{}", response: Some(response) };
        let is_alike = |recorded: Value<'_>, live: Value<'_>| self.runs.may_have_become(recorded, live);
        let alike = Alike { is_alike: &is_alike, is_told: false };
        let both = (payloads(recorded), payloads(live));
        match compare_beyond(self.ignored, method, both, SideAlike::both(alike)).answer {
            Answer::Alike(part, found) => told(part.name(), &found, self.ignored.of(method, part), alike),
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
                Found { changes: vec![change], more: false }
            }
        }
    }

    /// How a question of the server differs from the recorded one.
    pub(super) fn questions(&self, method: &str, recorded: &[u8], live: &[u8]) -> Found {
        let request = |request| CallPayloads { request, response: None };
        let is_alike = |recorded: Value<'_>, live: Value<'_>| self.runs.may_have_become(recorded, live);
        let alike = Alike { is_alike: &is_alike, is_told: false };
        let both = (request(recorded), request(live));
        let found = compare_beyond(self.ignored, method, both, SideAlike::both(alike)).params;
        told(&format!("{method} params"), &found, self.ignored.of(method, Part::Params), alike)
    }
}

fn told(place: &str, found: &Differences<'_>, paths: &Paths, alike: Alike<'_>) -> Found {
    let mut told = Found { changes: Vec::new(), more: found.more };
    for difference in &found.list {
        match difference.inside(paths) {
            Some(inside) => {
                let found = inside.differences_beyond(paths, MAX_CHANGES, Some(alike));
                let within = format!("{place}{} in JSON: ", difference.pointer);
                told.changes.extend(found.list.iter().map(|difference| change(&within, difference)));
                told.more |= found.more;
            }
            None => told.changes.push(change(place, difference)),
        }
    }
    told.more |= told.changes.len() > MAX_CHANGES;
    told.changes.truncate(MAX_CHANGES);
    told
}

fn change(place: &str, difference: &Difference<'_>) -> Change {
    let raw = |value: Option<Value<'_>>| value.map(|value| shortened(value.raw.to_vec()));
    Change {
        place: format!("{place}{}", difference.pointer),
        before: raw(difference.before),
        after: raw(difference.after),
    }
}

/// A value, or the beginning of a long one as a string.
fn shortened(json: Vec<u8>) -> Vec<u8> {
    if json.len() <= MAX_VALUE {
        return json;
    }
    let beginning = String::from_utf8_lossy(&json[..MAX_VALUE]);
    serde_json::to_vec(&format!("{beginning}…")).expect("a string always serializes")
}

/// What the answers say of the call.
pub(super) fn verdict(recorded: &[u8], live: &[u8], found: &Found) -> Verdict {
    let failed = |message| Outcome::of_response(&Envelope::scan(message)).is_error();
    if failed(live) && !failed(recorded) {
        return Verdict::NewError;
    }
    if found.changes.is_empty() && !found.more { Verdict::Same } else { Verdict::Changed }
}

/// What an error says in words: its message, or the first text of a result with `isError`.
pub(super) fn error_text(answer: &[u8]) -> Option<String> {
    /// More is not told.
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
