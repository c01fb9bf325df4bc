//! Findings for people: the message, the location, an excerpt with the place marked, and the fix.

use super::outcome::{LintedTrace, Totals, totals};
use crate::output::{Output, Paint, StyledLine, Styles};
use crate::{text, units};
use std::io::{self, Write};
use wiretape_analyze::lint::select::{Level, Selection};
use wiretape_analyze::lint::{Diagnostic, Excerpt, Severity};

/// The line width for pipes, in columns.
const WIDTH: usize = 100;

/// Writes all findings and the totals.
pub(crate) fn write(out: &mut Output, traces: &[LintedTrace], selection: &Selection) -> io::Result<()> {
    let width = out.width.unwrap_or(WIDTH).max(40);
    for trace in traces {
        let path = text::printable(&trace.path.display().to_string()).into_owned();
        for diagnostic in &trace.diagnostics {
            write_diagnostic(out, diagnostic, &path, width)?;
        }
        write_left_out(out, trace)?;
    }
    write_totals(out, traces, selection)?;
    out.flush()
}

fn paint(styles: &Styles, severity: Severity) -> Paint {
    match severity {
        Severity::Error => styles.error,
        Severity::Warning => styles.warning,
        Severity::Info => styles.hint,
    }
}

fn write_diagnostic(out: &mut Output, diagnostic: &Diagnostic, path: &str, width: usize) -> io::Result<()> {
    let styles = out.styles;
    let rule = diagnostic.rule;
    let severity = paint(&styles, rule.severity);
    let head = format!("{}[{} {}]:", rule.severity, rule.code, rule.name);
    let message = text::printable(&diagnostic.message).into_owned();
    let mut first = true;
    for line in text::wrap(&format!("{head} {message}"), width) {
        // Only on the first line: a message may repeat the text of its head.
        match line.strip_prefix(&head).filter(|_| std::mem::take(&mut first)) {
            Some(rest) => writeln!(out, "{}{rest}", severity.paint(&head))?,
            None => writeln!(out, "  {line}")?,
        }
    }
    write_place(out, diagnostic, path)?;
    if let Some(excerpt) = &diagnostic.excerpt {
        write_excerpt(out, excerpt, severity, width)?;
    }
    if let Some(related) = &diagnostic.related {
        writeln!(out, "   {} line {}: {}", styles.dim.paint("="), related.line, related.what)?;
    }
    write_help(out, rule.fix, width)?;
    writeln!(out)
}

/// File and line. If there is no room, the start of the path is cut: the line number matters more.
fn place(path: &str, line: u64, width: Option<usize>) -> String {
    // The width of `  --> `.
    const BEFORE: usize = 6;
    let line = format!(":{line}");
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(BEFORE + line.len()));
    if text::width(path) <= room {
        return format!("{path}{line}");
    }
    let mut kept = path;
    while text::width(kept) + 1 > room && !kept.is_empty() {
        kept = kept.char_indices().nth(1).map_or("", |(next, _)| &kept[next..]);
    }
    format!("{}{kept}{line}", text::ELLIPSIS)
}

/// File, line and pointer, on one line if there is room.
fn write_place(out: &mut Output, diagnostic: &Diagnostic, path: &str) -> io::Result<()> {
    let (styles, width) = (out.styles, out.width);
    let place = place(path, diagnostic.line, width);
    let pointer = text::printable(&diagnostic.pointer).into_owned();
    let fits = width.is_none_or(|width| 8 + text::width(&place) + text::width(&pointer) <= width);
    let mut line = StyledLine::default();
    line.push(styles.dim, "  --> ");
    line.push(styles.plain, place);
    if !fits {
        line.write(out, width)?;
        line = StyledLine::default();
        line.push(styles.dim, "    ");
    }
    line.push(styles.dim, format!("  {pointer}"));
    line.write(out, width)
}

/// The excerpt, centered on the finding, with a caret under each of its columns.
fn write_excerpt(out: &mut Output, excerpt: &Excerpt, paint: Paint, width: usize) -> io::Result<()> {
    let room = width.saturating_sub(6).max(20);
    let piece = |range: std::ops::Range<usize>| {
        text::printable(excerpt.text.get(range).unwrap_or_default()).into_owned()
    };
    let marked = piece(excerpt.mark.clone());
    let (before, after) = (piece(0..excerpt.mark.start), piece(excerpt.mark.end..excerpt.text.len()));
    // The finding gets at most two thirds of the line, so that some context is visible.
    let shown_mark = text::truncate(&marked, room * 2 / 3).into_owned();
    let left = (room - text::width(&shown_mark)) / 2;
    let before = keep_end(&before, left, excerpt.cut_before);
    let rest = room.saturating_sub(text::width(&before) + text::width(&shown_mark));
    let after = if excerpt.cut_after { format!("{after}{}", text::ELLIPSIS) } else { after };
    let after = text::truncate(&after, rest).into_owned();
    let styles = out.styles;
    writeln!(out, "   {}", styles.dim.paint("|"))?;
    writeln!(out, "   {} {before}{}{after}", styles.dim.paint("|"), paint.paint(&shown_mark))?;
    let carets = "^".repeat(text::width(&shown_mark).max(1));
    let indent = " ".repeat(text::width(&before));
    writeln!(out, "   {} {indent}{}", styles.dim.paint("|"), paint.paint(carets))
}

/// The last columns of a text; a cut is marked with an ellipsis.
fn keep_end(piece: &str, columns: usize, cut_before: bool) -> String {
    if text::width(piece) <= columns && !cut_before {
        return piece.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in piece.chars().rev() {
        let mut buffer = [0; 4];
        used += text::width(c.encode_utf8(&mut buffer));
        if used > columns.max(1) {
            break;
        }
        kept.push(c);
    }
    std::iter::once(text::ELLIPSIS).chain(kept.into_iter().rev()).collect()
}

fn write_help(out: &mut Output, fix: &str, width: usize) -> io::Result<()> {
    let styles = out.styles;
    let mut first = true;
    for line in text::wrap(fix, width.saturating_sub(11)) {
        if std::mem::take(&mut first) {
            writeln!(out, "   {} {} {line}", styles.dim.paint("="), styles.hint.paint("help:"))?;
        } else {
            writeln!(out, "           {line}")?;
        }
    }
    Ok(())
}

fn write_left_out(out: &mut Output, trace: &LintedTrace) -> io::Result<()> {
    let styles = out.styles;
    for (rule, more) in &trace.left_out {
        let name = format!("{} {}", rule.code, rule.name);
        writeln!(
            out,
            "{} {} more of {name} in {}; use --all to show them",
            styles.dim.paint("…"),
            units::number(*more),
            path_of(trace)
        )?;
    }
    Ok(())
}

fn path_of(trace: &LintedTrace) -> String {
    text::printable(&trace.path.display().to_string()).into_owned()
}

fn write_totals(out: &mut Output, traces: &[LintedTrace], selection: &Selection) -> io::Result<()> {
    let styles = out.styles;
    let sum = totals(traces);
    let of = units::count(traces.len() as u64, "trace");
    if sum.all() == 0 {
        return writeln!(out, "{} in {of}", styles.good.paint("no findings"));
    }
    let mut parts = Vec::new();
    for (count, thing) in [(sum.errors, "error"), (sum.warnings, "warning")] {
        if count > 0 {
            parts.push(units::count(count, thing));
        }
    }
    if sum.infos > 0 {
        parts.push(format!("{} info", units::number(sum.infos)));
    }
    writeln!(out, "{} in {of}{}", styles.strong.paint(parts.join(", ")), verdict(sum, traces, selection))
}

/// Points to the explanation of the first denied rule.
fn verdict(sum: Totals, traces: &[LintedTrace], selection: &Selection) -> String {
    if sum.denied == 0 {
        return String::new();
    }
    let denied = |diagnostic: &&Diagnostic| selection.level(diagnostic.rule) == Level::Deny;
    let first = traces.iter().flat_map(|trace| &trace.diagnostics).find(denied);
    first
        .map(|diagnostic| format!("; run `wiretape lint --explain {}` for details", diagnostic.rule.name))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        assert_eq!(keep_end("abcdef", 6, false), "abcdef");
        assert_eq!(keep_end("abcdef", 4, false), "…def");
        assert_eq!(keep_end("abc", 9, true), "…abc");
        assert_eq!(keep_end("漢字", 4, true), "…字");
    }
}
