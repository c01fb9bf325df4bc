//! Used, unused and missed calls, as JSON.

use super::outcome::ReplayedTrace;
use serde_json::{Value, json};
use std::io::{self, Write};
use wiretape_analyze::replay::{CallTally, MissNote, Recorded, Tape};

pub(crate) fn write(out: &mut impl Write, tapes: &[ReplayedTrace]) -> io::Result<()> {
    let traces: Vec<Value> = tapes.iter().map(trace).collect();
    serde_json::to_writer_pretty(&mut *out, &json!({ "traces": traces }))?;
    writeln!(out)
}

fn trace(tape: &ReplayedTrace) -> Value {
    let (index, tally) = (tape.loaded.tape(), tape.loaded.tally());
    let calls: Vec<Value> =
        index.calls().iter().zip(tally.calls()).map(|(call, tally)| one(index, call, *tally)).collect();
    let unused = tally.unused(index).count();
    json!({
        "trace": tape.path.display().to_string(),
        "used": tally.used(),
        "unused": unused,
        "unusedOptional": calls.len() - tally.used() - unused,
        "missed": tally.missed(),
        "passedOn": tally.passed_on(),
        "otherReplies": tally.other_replies(),
        "struck": tally.struck(),
        "healed": tally.healed(),
        "calls": calls,
        "misses": tally.misses().iter().map(miss).collect::<Vec<_>>(),
    })
}

fn one(index: &Tape, call: &Recorded, tally: CallTally) -> Value {
    let kind = index.kind(call);
    json!({
        "line": call.line,
        "method": &*kind.method,
        "name": kind.name.as_deref(),
        "used": tally.used,
        "redacted": tally.redacted,
        "inexact": tally.inexact,
        "optional": index.may_be_left_out(call),
    })
}

fn miss(note: &MissNote) -> Value {
    let miss = &note.miss;
    let nearest = miss.nearest.as_ref().map(|nearest| {
        let differences = nearest.departures.iter().map(|departure| {
            json!({ "path": departure.path, "recorded": departure.recorded, "asked": departure.asked })
        });
        json!({
            "line": nearest.line,
            "method": &*nearest.kind.method,
            "name": nearest.kind.name.as_deref(),
            "differences": differences.collect::<Vec<_>>(),
        })
    });
    json!({
        "method": &*miss.kind.method,
        "name": miss.kind.name.as_deref(),
        "reason": miss.reason.name(),
        "times": note.times,
        "message": miss.to_string(),
        "nearest": nearest,
    })
}
