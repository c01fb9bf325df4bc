//! The recorded and the live definitions of a server. Both are redacted before they are compared, because the
//! differences are shown. Messages are fed to the same [`Collector`] as a trace's, so that pages are joined by the
//! same rules.

use super::script::{self, Script};
use crate::definitions::{Collector, Definition, Definitions, ListKind, Listing};
use crate::drift::{self, Drift};
use crate::json_diff::{Alike, diff_beyond};
use crate::reading::{Reading, RecordingState};
use crate::replay::{Payloads, may_have_been};
use crate::volatile::Paths;
use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::format::{DirectionField, Line, Message, Record, Stamp};
use wiretape_trace::message::Direction;
use wiretape_trace::redact::{Redactor, is_redacted};
use wiretape_trace::splice::{Edit, splice};
use wiretape_trace::value::Value;

/// Differences between two definitions that are examined.
const MAX_DIFFERENCES: usize = 1000;

/// Redacts a message; as text if it is not JSON.
pub fn without_secrets<'m>(redactor: &Redactor, message: &'m [u8]) -> Cow<'m, [u8]> {
    redactor.json(message).unwrap_or_else(|_| redactor.text(message))
}

/// Whether the results of a method hold definitions.
pub(super) fn is_offer(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover") || ListKind::of_method(method).is_some()
}

/// Collects the definitions in the messages of a run.
#[derive(Debug)]
pub(super) struct OfferCollector {
    reader: Reading<Collector>,
    redactor: Option<Arc<Redactor>>,
}

impl OfferCollector {
    pub(super) fn new(redactor: Option<Arc<Redactor>>) -> Self {
        OfferCollector { reader: Reading::default(), redactor }
    }

    /// The definitions of the recorded server.
    pub(super) fn recorded(
        script: &Script,
        payloads: &impl Payloads,
        redactor: Option<Arc<Redactor>>,
    ) -> Definitions {
        let tape = script.tape();
        let mut offered = OfferCollector::new(redactor);
        let mut bytes = Vec::new();
        for call in tape.calls().iter().filter(|call| is_offer(&tape.kind(call).method)) {
            let answer = script::answer(tape, call).zip(call.answer_line());
            let answer = answer.map(|(span, line)| (Direction::ServerToClient, span, line));
            let request = (Direction::ClientToServer, call.request, call.line);
            for (direction, span, line) in std::iter::once(request).chain(answer) {
                if payloads.read(span, &mut bytes).is_ok() {
                    offered.observe(direction, line, &bytes);
                }
            }
        }
        offered.finish()
    }

    /// Adds a request or its answer.
    pub(super) fn observe(&mut self, direction: Direction, line: u64, payload: &[u8]) {
        let redactor = self.redactor.as_deref();
        let clean = redactor.map_or(Cow::Borrowed(payload), |redactor| without_secrets(redactor, payload));
        let message = Message {
            stamp: Stamp::default(),
            dir: DirectionField::Known(direction),
            raw: &clean,
            session: None,
            http: None,
        };
        let record = Record::Message(message);
        self.reader.observe(&Line { number: line, offset: 0, bytes: b"", record });
    }

    /// The definitions so far, without lists that have pages to come.
    pub(super) fn so_far(&self) -> &Definitions {
        self.reader.analysis().so_far()
    }

    pub(super) fn finish(self) -> Definitions {
        self.reader.finish(RecordingState::Over).finish()
    }
}

/// Compares the recorded definitions with the live ones.
pub(super) fn compare(mut recorded: Definitions, live: &Definitions) -> Drift {
    // A recorded marker would otherwise count as a change of every definition that has one, and hide real ones beside
    // it.
    fill_in(&mut recorded, live);
    drift::compare(&recorded, live)
}

/// Fills redacted values in the recorded definitions with the live ones: a redacted value matches anything.
fn fill_in(recorded: &mut Definitions, live: &Definitions) {
    for (fact, was) in &mut recorded.server {
        if let Some(is) = live.server.get(fact) {
            was.raw = filled_in(&was.raw, &is.raw);
        }
    }
    for (kind, was) in &mut recorded.lists {
        let Some(is) = live.lists.get(kind) else { continue };
        fill_in_names(*kind, was, is);
        for (name, was) in &mut was.entries {
            if let Some(is) = is.entries.get(name) {
                was.raw = filled_in(&was.raw, &is.raw);
            }
        }
    }
}

/// Fills redacted names: the URI of a resource may contain a password.
fn fill_in_names(kind: ListKind, recorded: &mut Listing, live: &Listing) {
    let redacted: Vec<String> =
        recorded.entries.keys().filter(|name| is_redacted(name.as_bytes())).cloned().collect();
    for old in redacted {
        let Some(was) = recorded.entries.remove(&old) else { continue };
        let is_it = |(name, is): &(&String, &Definition)| {
            !recorded.entries.contains_key(*name)
                && member(&was.raw, kind.key())
                    .zip(member(&is.raw, kind.key()))
                    .is_some_and(|(was, is)| may_have_been(was, is))
        };
        // Without a counterpart the name stays redacted, and the entry counts as removed.
        let new = live.entries.iter().find(is_it).map_or(old, |(name, _)| name.clone());
        recorded.entries.insert(new, was);
    }
}

fn member<'d>(definition: &'d [u8], name: &str) -> Option<Value<'d>> {
    Value::parse(definition).ok()?.get(name)
}

/// A definition with redacted values replaced by the live ones.
fn filled_in(recorded: &[u8], live: &[u8]) -> Vec<u8> {
    let (Ok(was), Ok(is)) = (Value::parse(recorded), Value::parse(live)) else { return recorded.to_vec() };
    if !is_redacted(recorded) {
        return recorded.to_vec();
    }
    let alike = Alike { is_alike: &may_have_been, is_reported: true };
    let found = diff_beyond((was, is), Paths::none(), MAX_DIFFERENCES, alike).list;
    let places = found.iter().filter_map(|place| place.before.zip(place.after));
    let places = places.filter(|(was, is)| may_have_been(*was, *is));
    let edit = |(was, is): (Value<'_>, Value<'_>)| (was.offset..was.offset + was.raw.len(), is.raw.to_vec());
    let mut edits: Vec<Edit> = places.map(edit).collect();
    // `splice` needs edits in order; differences are in the order of the live value.
    edits.sort_by_key(|(place, _)| place.start);
    splice(recorded, &edits)
}
