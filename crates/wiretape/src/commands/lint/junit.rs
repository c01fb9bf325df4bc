//! Findings as JUnit's XML, for CI: a suite for each trace, a case for each finding, which fails if the finding is denied.

use super::outcome::LintedTrace;
use crate::xml::escape;
use std::io::{self, Write};
use wiretape_analyze::lint::Diagnostic;
use wiretape_analyze::lint::select::{Level, Selection};

/// Writes the document.
pub(crate) fn write(out: &mut impl Write, traces: &[LintedTrace], selection: &Selection) -> io::Result<()> {
    let tests: usize = traces.iter().map(cases).sum();
    let failures: usize = traces.iter().map(|trace| failures(trace, selection)).sum();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="wiretape lint" tests="{tests}" failures="{failures}" errors="0">"#)?;
    for trace in traces {
        write_suite(out, trace, selection)?;
    }
    writeln!(out, "</testsuites>")
}

/// A trace in which nothing was found has one case, which passes.
fn cases(trace: &LintedTrace) -> usize {
    trace.diagnostics.len().max(1)
}

fn failures(trace: &LintedTrace, selection: &Selection) -> usize {
    trace.diagnostics.iter().filter(|diagnostic| is_failure(diagnostic, selection)).count()
}

fn is_failure(diagnostic: &Diagnostic, selection: &Selection) -> bool {
    selection.level(diagnostic.rule) == Level::Deny
}

fn write_suite(out: &mut impl Write, trace: &LintedTrace, selection: &Selection) -> io::Result<()> {
    let name = escape(&trace.path.display().to_string());
    let (tests, failures) = (cases(trace), failures(trace, selection));
    writeln!(out, r#"  <testsuite name="{name}" tests="{tests}" failures="{failures}" errors="0">"#)?;
    if trace.diagnostics.is_empty() {
        writeln!(out, r#"    <testcase name="no findings" classname="{name}"/>"#)?;
    }
    for diagnostic in &trace.diagnostics {
        write_case(out, diagnostic, &name, selection)?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_case(
    out: &mut impl Write,
    diagnostic: &Diagnostic,
    class: &str,
    selection: &Selection,
) -> io::Result<()> {
    let rule = diagnostic.rule;
    let message = escape(&diagnostic.message);
    let line = diagnostic.line;
    writeln!(out, r#"    <testcase name="{} {} (line {line})" classname="{class}">"#, rule.code, rule.name)?;
    let excerpt = diagnostic.excerpt.as_ref().map_or("", |excerpt| excerpt.text.as_str());
    let body = escape(&format!("line {line} {}\n{excerpt}\nhelp: {}", diagnostic.pointer, rule.fix));
    if is_failure(diagnostic, selection) {
        let kind = rule.severity;
        writeln!(out, r#"      <failure type="{kind}" message="{message}">{body}</failure>"#)?;
    } else {
        writeln!(out, "      <system-out>{message}\n{body}</system-out>")?;
    }
    writeln!(out, "    </testcase>")
}
