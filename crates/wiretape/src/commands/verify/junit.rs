//! What came of it, as JUnit's XML, for CI: a case for each call, and one for each change of what the server offers.

use super::report::Report;
use crate::xml::escape;
use std::io::{self, Write};
use wiretape_analyze::drift;
use wiretape_analyze::verify::{Change, Checked, Verdict};

/// Writes the document.
pub(super) fn write(out: &mut impl Write, report: &Report<'_>) -> io::Result<()> {
    let verified = report.verified;
    let calls = |is: fn(&Verdict) -> bool| verified.calls.iter().filter(|call| is(&call.verdict)).count();
    let offers = verified.drift.changes.iter().filter(|change| report.offers.count(change));
    let tests = verified.calls.len() + verified.drift.changes.len();
    let failures = calls(Verdict::is_failure) + offers.count();
    let skipped = calls(|verdict| matches!(verdict, Verdict::Skipped(_)) && !verdict.is_failure());
    let name = escape(report.name);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="wiretape verify" tests="{tests}" failures="{failures}" errors="0">"#)?;
    writeln!(
        out,
        r#"  <testsuite name="{name}" tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}">"#
    )?;
    for checked in &verified.calls {
        write_call(out, report, checked, &name)?;
    }
    for change in &verified.drift.changes {
        write_offer(out, report, change, &name)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn write_call(out: &mut impl Write, report: &Report<'_>, checked: &Checked, class: &str) -> io::Result<()> {
    let name = escape(&format!("{} (line {})", report.call(checked), report.line(checked)));
    write!(out, r#"    <testcase name="{name}" classname="{class}""#)?;
    if let Some(took_us) = checked.took_us {
        write!(out, r#" time="{:.6}""#, took_us as f64 / 1e6)?;
    }
    match &checked.verdict {
        Verdict::Same => writeln!(out, "/>"),
        Verdict::Skipped(skip) if !checked.verdict.is_failure() => {
            writeln!(out, r#"><skipped message="{}"/></testcase>"#, escape(&skip.to_string()))
        }
        verdict => {
            let kind = verdict.name().replace(' ', "-");
            let (message, body) = (escape(&message(verdict, checked)), escape(&listed(&checked.changes)));
            writeln!(
                out,
                ">\n      <failure type=\"{kind}\" message=\"{message}\">{body}</failure>\n    </testcase>"
            )
        }
    }
}

fn message(verdict: &Verdict, checked: &Checked) -> String {
    match verdict {
        Verdict::Missing(missing) => missing.to_string(),
        Verdict::Skipped(skip) => skip.to_string(),
        Verdict::Slower => {
            let ms = |us: Option<u64>| us.map_or_else(|| "?".to_owned(), |us| format!("{} ms", us / 1000));
            format!("{} when it was recorded, {} now", ms(checked.recorded_us), ms(checked.took_us))
        }
        _ => {
            let first = checked.changes.first().map(|change| change.place.as_str()).unwrap_or_default();
            format!("{}: {first}", verdict.name())
        }
    }
}

fn listed(changes: &[Change]) -> String {
    let text = |value: &Option<Vec<u8>>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), |value| String::from_utf8_lossy(value).into_owned())
    };
    let lines = changes
        .iter()
        .map(|change| format!("{}\n- {}\n+ {}\n", change.place, text(&change.before), text(&change.after)));
    lines.collect()
}

fn write_offer(
    out: &mut impl Write,
    report: &Report<'_>,
    change: &drift::Change,
    class: &str,
) -> io::Result<()> {
    let sentence = escape(&change.sentence);
    write!(out, r#"    <testcase name="{sentence}" classname="{class}">"#)?;
    if report.offers.count(change) {
        let (kind, advice) = (change.kind.name(), escape(change.advice()));
        writeln!(out, r#"<failure type="{kind}" message="{sentence}">{advice}</failure></testcase>"#)
    } else {
        writeln!(out, "<system-out>{}</system-out></testcase>", escape(change.advice()))
    }
}
