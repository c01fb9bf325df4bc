//! Output for programs: one object per line, or one document.

use super::report::{VerifyReport, after_skipped_writes};
use crate::commands::diff::definition;
use crate::error::CommandError;
use crate::json::ObjectWriter;
use crate::output;
use std::io::{self, Write};
use wiretape_analyze::verify::{Change, Checked, Plan, Verdict};
use wiretape_proxy::verify::RecordedClient;

/// Prints the calls that would be made.
pub(super) fn print_plan(client: &RecordedClient) -> Result<(), CommandError> {
    let mut out = output::machine_stdout();
    let tape = client.script.tape();
    for (call, plan) in client.script.entries() {
        let kind = tape.kind(call);
        let mut object = ObjectWriter::new();
        object.string("type", Some("call")).number("line", Some(call.line));
        object.string("method", Some(&kind.method)).string("name", kind.name.as_deref());
        let skip = if let Plan::Skip(skip) = plan { Some(skip.name()) } else { None };
        object.string("skip", skip);
        out.write_all(&object.finish())?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Prints the results: the calls, the changed definitions, a summary.
pub(super) fn print(report: &VerifyReport<'_>) -> Result<(), CommandError> {
    let mut out = output::machine_stdout();
    for object in calls(report).chain(definitions(report)).chain([summary(report)]) {
        out.write_all(&object)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Writes the results as one document.
pub(super) fn write_document(out: &mut impl Write, report: &VerifyReport<'_>) -> io::Result<()> {
    let mut object = ObjectWriter::new();
    object.raw("summary", &summary(report));
    object.array("definitions", definitions(report)).array("calls", calls(report));
    out.write_all(&object.finish())?;
    out.write_all(b"\n")
}

fn summary(report: &VerifyReport<'_>) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    object.string("type", Some("summary")).string("trace", Some(report.name));
    for (name, count) in report.verified.counts() {
        object.number(if name == "new error" { "newErrors" } else { name }, Some(count));
    }
    let drift = &report.verified.drift;
    object.number("definitions", Some(drift.changes.len() as u64));
    object.number("breaking", Some(drift.breaking() as u64));
    let failed = if report.verified.is_failure(report.offers) { &b"true"[..] } else { b"false" };
    object.raw("failed", failed);
    object.finish()
}

fn calls(report: &VerifyReport<'_>) -> impl Iterator<Item = Vec<u8>> {
    report.verified.calls.iter().map(|checked| call(report, checked))
}

fn call(report: &VerifyReport<'_>, checked: &Checked) -> Vec<u8> {
    let tape = report.script.tape();
    let recorded = tape.call(checked.call);
    let kind = tape.kind(recorded);
    let mut object = ObjectWriter::new();
    object.string("type", Some("call")).number("line", Some(recorded.line));
    object.string("method", Some(&kind.method)).string("name", kind.name.as_deref());
    object.string("verdict", Some(&checked.verdict.name().replace(' ', "-")));
    match &checked.verdict {
        Verdict::Skipped(skip) => {
            object.string("skip", Some(skip.name())).string("reason", Some(&skip.to_string()))
        }
        Verdict::Missing(missing) => object.string("reason", Some(&missing.to_string())),
        Verdict::Inconclusive { skipped_writes } => {
            object.string("reason", Some(&after_skipped_writes(*skipped_writes)))
        }
        Verdict::NewError => object.string("reason", checked.error.as_deref()),
        _ => &mut object,
    };
    object.number("recordedUs", checked.recorded_us).number("tookUs", checked.took_us);
    object.array("changes", checked.changes.iter().map(change));
    object.raw("more", if checked.more { b"true" } else { b"false" });
    object.finish()
}

fn change(change: &Change) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    object.string("place", Some(&change.place));
    for (name, value) in [("before", &change.before), ("after", &change.after)] {
        if let Some(value) = value {
            object.raw(name, value);
        }
    }
    object.finish()
}

fn definitions(report: &VerifyReport<'_>) -> impl Iterator<Item = Vec<u8>> {
    report.verified.drift.changes.iter().map(definition)
}
