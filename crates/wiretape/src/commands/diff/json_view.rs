//! Output for programs: one object per line.

use super::rows::{Comparison, Pair, Side, Texts};
use crate::error::CommandError;
use crate::json::ObjectWriter;
use crate::output;
use std::io::Write;
use wiretape_analyze::diff::{Answer, CallRow, Comparer, IndexedCall, PaceChange, Status};
use wiretape_analyze::drift::Change;
use wiretape_analyze::json_diff::{Difference, Differences};
use wiretape_analyze::volatile::{Part, Paths};
use wiretape_trace::message::Direction;
use wiretape_trace::value::Value;

/// Prints a comparison: its summary, the changed definitions, and every call.
pub(super) fn print(comparison: &Comparison) -> Result<(), CommandError> {
    let mut out = output::machine_stdout();
    let mut line = |object: Vec<u8>| -> std::io::Result<()> {
        out.write_all(&object)?;
        out.write_all(b"\n")
    };
    line(summary(comparison))?;
    for change in &comparison.drift.changes {
        line(definition(change))?;
    }
    let mut messages = comparison.messages()?;
    for row in &comparison.rows {
        let pair = comparison.pair(row);
        let (before, after) = messages.of(row, pair)?;
        line(call(comparison, row, pair, &before, &after))?;
    }
    Ok(out.flush()?)
}

fn summary(comparison: &Comparison) -> Vec<u8> {
    let (summary, drift) = (&comparison.summary, &comparison.drift);
    let mut object = ObjectWriter::new();
    object.string("type", Some("summary"));
    object.raw("a", &trace(&comparison.first)).raw("b", &trace(&comparison.second));
    object.number("same", Some(summary.same)).number("changed", Some(summary.changed));
    object.number("added", Some(summary.added)).number("removed", Some(summary.removed));
    object.number("slower", Some(summary.slower)).number("faster", Some(summary.faster));
    object.number("definitions", Some(drift.changes.len() as u64));
    object.number("breaking", Some(drift.breaking() as u64));
    let list = |kinds: &[wiretape_analyze::definitions::ListKind]| -> Vec<Vec<u8>> {
        kinds.iter().map(|kind| format!("\"{}\"", kind.member()).into_bytes()).collect()
    };
    object.array("unseenLists", list(&drift.unseen)).array("partialLists", list(&drift.partial));
    object.finish()
}

fn trace(side: &Side) -> Vec<u8> {
    let meta = side.head.meta.as_ref();
    let mut object = ObjectWriter::new();
    object.string("path", Some(&side.path.to_string_lossy()));
    object.string("id", meta.and_then(|meta| meta.id.as_deref()));
    object.string("label", meta.map(|meta| meta.label.as_str()));
    object.number("calls", Some(side.index.calls.len() as u64));
    object.finish()
}

/// The change of one definition.
pub(crate) fn definition(change: &Change) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    object.string("type", Some("definition"));
    object.string("of", Some(change.subject.noun())).string("name", Some(change.subject.name()));
    object.string("change", Some(change.kind.name())).string("effect", Some(change.effect.name()));
    object.string("pointer", Some(&change.pointer));
    object.number("line", change.spot.as_ref().map(|spot| spot.line));
    object.string("message", Some(&change.sentence)).string("advice", Some(change.advice()));
    for (name, value) in [("before", &change.before), ("after", &change.after)] {
        if let Some(value) = value {
            object.raw(name, value);
        }
    }
    object.finish()
}

fn call(comparison: &Comparison, row: &CallRow, pair: Pair<'_>, before: &Texts, after: &Texts) -> Vec<u8> {
    let call = pair.call();
    let mut object = ObjectWriter::new();
    object.string("type", Some("call")).string("status", Some(row.status.name()));
    object.string("dir", Some(if call.direction == Direction::ClientToServer { "in" } else { "out" }));
    object.string("method", Some(&call.method)).string("name", call.name.as_deref());
    for (name, call) in [("a", pair.first), ("b", pair.second)] {
        match call {
            Some(call) => object.raw(name, &side(call)),
            None => object.raw(name, b"null"),
        };
    }
    object.string("pace", comparison.pace_of(row).map(pace));
    if row.status == Status::Changed {
        let comparer = &comparison.comparer;
        let asked = (call.direction, &*call.method);
        let found = comparer.compare(asked, before.payloads(), after.payloads());
        let paths = |part| comparer.paths(&call.method, part);
        let mut list = differences(Part::Params, &found.params, paths(Part::Params), comparer);
        let more = match &found.answer {
            Answer::Alike(part, answer) => {
                list.extend(differences(*part, answer, paths(*part), comparer));
                answer.more
            }
            Answer::Other { before, after } => {
                list.extend(before.map(|(part, value)| whole(part, "before", value)));
                list.extend(after.map(|(part, value)| whole(part, "after", value)));
                false
            }
        };
        object.array("differences", list);
        object.raw("more", if more || found.params.more { b"true" } else { b"false" });
    }
    object.finish()
}

fn pace(change: PaceChange) -> &'static str {
    match change {
        PaceChange::Slower => "slower",
        PaceChange::Faster => "faster",
    }
}

fn side(call: &IndexedCall) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    object.number("line", Some(call.request.line));
    object.number("responseLine", call.response.map(|place| place.line));
    object.string("outcome", Some(call.outcome.name()));
    object.number("tookUs", call.took_us);
    object.finish()
}

/// The most differences within one string of JSON to report.
const MAX_INSIDE: usize = 1000;

fn differences(part: Part, found: &Differences<'_>, paths: &Paths, comparer: &Comparer) -> Vec<Vec<u8>> {
    let object = |one: &Difference<'_>, inside: Option<Vec<Vec<u8>>>| {
        let mut object = ObjectWriter::new();
        object.string("part", Some(part.name()));
        write_difference(&mut object, one);
        if let Some(inside) = inside {
            object.array("inside", inside);
        }
        object.finish()
    };
    let inside = |one: &Difference<'_>| {
        let inside = one.inside(paths)?;
        let found = comparer.differences_inside(&inside, paths, MAX_INSIDE);
        let to_json = |one: &Difference<'_>| {
            let mut object = ObjectWriter::new();
            write_difference(&mut object, one);
            object.finish()
        };
        Some(found.list.iter().map(to_json).collect::<Vec<_>>())
    };
    found.list.iter().map(|one| object(one, inside(one))).collect()
}

fn write_difference(object: &mut ObjectWriter, one: &Difference<'_>) {
    object.string("pointer", Some(&one.pointer));
    if one.pointer_before.is_some() {
        object.string("pointerBefore", one.pointer_before.as_deref());
    }
    for (name, value) in [("before", one.before), ("after", one.after)] {
        if let Some(value) = value {
            object.raw(name, value.raw);
        }
    }
}

/// A part that was added or removed as a whole.
fn whole(part: Part, side: &str, value: Value<'_>) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    object.string("part", Some(part.name())).string("pointer", Some("")).raw(side, value.raw);
    object.finish()
}
