//! Output for people: a summary, then the differences, with unchanged calls folded.

use super::rows::{Comparison, Pair, Side, Texts};
use crate::difference_view::{DifferenceView, MAX_VALUE, arguments};
use crate::error::CommandError;
use crate::json;
use crate::output::{Output, Paint, Styles};
use crate::text::printable;
use crate::units;
use std::io::{self, Write};
use wiretape_analyze::diff::{Answer, CallRow, Comparer, IndexedCall, PaceChange, Status};
use wiretape_analyze::json_diff::{Difference, Differences};
use wiretape_analyze::volatile::Part;
use wiretape_trace::message::Direction;

/// The most differences of one message to show.
const MAX_SHOWN: usize = 20;

pub(super) fn print(comparison: &Comparison, context: usize) -> Result<(), CommandError> {
    let draw = DifferenceView::new(Output::stdout());
    let mut view = DiffView { styles: draw.styles, draw };
    view.head(comparison)?;
    view.definitions(comparison)?;
    view.calls(comparison, context)?;
    Ok(view.draw.out.flush()?)
}

struct DiffView {
    draw: DifferenceView,
    styles: Styles,
}

impl DiffView {
    fn head(&mut self, comparison: &Comparison) -> io::Result<()> {
        let styles = self.styles;
        self.draw.line(&[(styles.error, "--- "), (styles.plain, &trace(&comparison.first))])?;
        self.draw.line(&[(styles.good, "+++ "), (styles.plain, &trace(&comparison.second))])?;
        for line in summary(comparison) {
            self.draw.line(&[(styles.strong, &line)])?;
        }
        Ok(())
    }

    fn definitions(&mut self, comparison: &Comparison) -> io::Result<()> {
        let styles = self.styles;
        let drift = &comparison.drift;
        if !drift.changes.is_empty() {
            writeln!(self.draw.out)?;
        }
        for change in &drift.changes {
            self.draw.definition(change)?;
        }
        for kind in &drift.unseen {
            let note = format!("  `{}` is in the first trace only: not compared", kind.method());
            self.draw.line(&[(styles.dim, &note)])?;
        }
        self.draw.partial_lists(drift)
    }

    fn calls(&mut self, comparison: &Comparison, context: usize) -> Result<(), CommandError> {
        let mut messages = comparison.messages()?;
        let shown = shown(comparison, context);
        if shown.iter().any(|is_shown| *is_shown) {
            writeln!(self.draw.out)?;
        }
        let mut folded = 0;
        for (row, is_shown) in comparison.rows.iter().zip(&shown) {
            let pair = comparison.pair(row);
            if !is_shown {
                folded += 1;
                continue;
            }
            self.fold(&mut folded)?;
            // Read only now: of a long session, most calls are unchanged, and their payloads are never needed.
            let (before, after) = messages.of(row, pair)?;
            self.call(comparison, row, pair, &before, &after)?;
        }
        // Without differences, the summary already has the number of unchanged calls.
        if shown.iter().any(|is_shown| *is_shown) {
            self.fold(&mut folded)?;
        }
        Ok(())
    }

    fn fold(&mut self, folded: &mut u64) -> io::Result<()> {
        match std::mem::take(folded) {
            0 => Ok(()),
            n => {
                let dim = self.styles.dim;
                self.draw.line(&[(dim, &format!("  … {} unchanged", units::count(n, "call")))])
            }
        }
    }

    fn call(
        &mut self,
        comparison: &Comparison,
        row: &CallRow,
        pair: Pair<'_>,
        before: &Texts,
        after: &Texts,
    ) -> io::Result<()> {
        let styles = self.styles;
        let (paint, mark) = match row.status {
            Status::Same => (styles.dim, "  "),
            Status::Changed => (styles.warning, "~ "),
            Status::Removed => (styles.error, "- "),
            Status::Added => (styles.good, "+ "),
        };
        let name = name(pair.call());
        // The later request is what the reader will look for; a removed call has only the earlier one.
        let request = if row.status == Status::Removed { &before.request } else { &after.request };
        let arguments = arguments(request);
        self.draw.line(&[
            (paint, mark),
            (if row.status == Status::Same { styles.dim } else { styles.name }, &name),
            (styles.plain, "  "),
            (styles.dim, &lines(pair)),
            (styles.plain, "  "),
            (styles.plain, &arguments),
        ])?;
        if let Some(change) = comparison.pace_of(row) {
            self.pace(change, pair)?;
        }
        if row.status == Status::Changed {
            self.changed(comparison, pair, before, after)?;
        }
        Ok(())
    }

    fn pace(&mut self, change: PaceChange, pair: Pair<'_>) -> io::Result<()> {
        let took = |call: Option<&IndexedCall>| {
            call.and_then(|call| call.took_us).map(units::duration).unwrap_or_default()
        };
        let (paint, word) = match change {
            PaceChange::Slower => (self.styles.warning, "slower"),
            PaceChange::Faster => (self.styles.good, "faster"),
        };
        let times = format!(": {} before, {} now", took(pair.first), took(pair.second));
        self.draw.line(&[(Paint::default(), "    "), (paint, word), (Paint::default(), &times)])
    }

    fn changed(
        &mut self,
        comparison: &Comparison,
        pair: Pair<'_>,
        before: &Texts,
        after: &Texts,
    ) -> io::Result<()> {
        let outcome = |call: Option<&IndexedCall>| call.map(outcome).unwrap_or_default();
        let (was, is) = (outcome(pair.first), outcome(pair.second));
        // A different outcome is the first thing to know: the values below are then of different kinds.
        if was != is {
            let styles = self.styles;
            let failed = pair.call().outcome.is_error() || pair.call().outcome.is_unanswered();
            let paint = if failed { styles.error } else { styles.good };
            self.draw.line(&[(styles.plain, &format!("    outcome: {was} → ")), (paint, &is)])?;
        }
        let (call, comparer) = (pair.call(), &comparison.comparer);
        let found = comparer.compare((call.direction, &call.method), before.payloads(), after.payloads());
        self.differences(&call.method, Part::Params, &found.params, comparer)?;
        match &found.answer {
            Answer::Alike(part, differences) => {
                self.differences(&call.method, *part, differences, comparer)?;
            }
            // A result on one side and an error on the other have nothing to be compared member by member.
            Answer::Other { before, after } => {
                let raw = |side: &Option<(Part, wiretape_trace::value::Value<'_>)>| {
                    side.map(|(part, value)| {
                        format!("{} {}", part.name(), json::compact(value.raw, MAX_VALUE))
                    })
                };
                self.draw.texts(raw(before), raw(after))?;
            }
        }
        // A call that is marked as changed and shows nothing would look like a bug.
        if found.params.list.is_empty() && found.answer.is_same() && was == is {
            let dim = self.styles.dim;
            self.draw.line(&[(dim, "    only in ignored values")])?;
        }
        Ok(())
    }

    fn differences(
        &mut self,
        method: &str,
        part: Part,
        found: &Differences<'_>,
        comparer: &Comparer,
    ) -> io::Result<()> {
        let paths = comparer.paths(method, part);
        for difference in found.list.iter().take(MAX_SHOWN) {
            match difference.inside(paths) {
                Some(inside) => {
                    let place = format!("{}{}", part.name(), difference.pointer);
                    let found = comparer.differences_inside(&inside, paths, MAX_SHOWN);
                    self.list(&place, " in JSON: ", &found)?;
                }
                None => self.difference(part.name(), "", difference)?,
            }
        }
        self.hidden(found)
    }

    /// The differences within a string of JSON.
    fn list(&mut self, place: &str, link: &str, found: &Differences<'_>) -> io::Result<()> {
        for difference in found.list.iter().take(MAX_SHOWN) {
            self.difference(place, link, difference)?;
        }
        self.hidden(found)
    }

    /// Reports the number of differences that are not shown.
    fn hidden(&mut self, found: &Differences<'_>) -> io::Result<()> {
        let hidden = found.list.len().saturating_sub(MAX_SHOWN) as u64;
        if hidden > 0 || found.more {
            let more = if found.more { "more than " } else { "" };
            let dim = self.styles.dim;
            let note =
                format!("    … {more}{} more (use --json to show all)", units::count(hidden, "difference"));
            self.draw.line(&[(dim, &note)])?;
        }
        Ok(())
    }

    fn difference(&mut self, place: &str, link: &str, difference: &Difference<'_>) -> io::Result<()> {
        let styles = self.styles;
        let place = format!("    {}{link}{}", printable(place), printable(&difference.pointer));
        let was = difference.pointer_before.as_ref();
        let was = was.map(|was| format!("  was {}", printable(was))).unwrap_or_default();
        self.draw.line(&[(styles.strong, &place), (styles.dim, &was)])?;
        let raw = |value: Option<wiretape_trace::value::Value<'_>>| value.map(|value| value.raw.to_vec());
        let (before, after) = (raw(difference.before), raw(difference.after));
        self.draw.values(before.as_deref(), after.as_deref())
    }
}

/// Which rows are shown: those that differ, and some context.
fn shown(comparison: &Comparison, context: usize) -> Vec<bool> {
    let rows = &comparison.rows;
    // A slower call is shown even if its messages are equal.
    let differs = |row: &CallRow| row.status != Status::Same || comparison.pace_of(row).is_some();
    let mut shown = vec![false; rows.len()];
    for (at, _) in rows.iter().enumerate().filter(|(_, row)| differs(row)) {
        let end = at.saturating_add(context).saturating_add(1).min(rows.len());
        shown[at.saturating_sub(context)..end].fill(true);
    }
    shown
}

fn trace(side: &Side) -> String {
    let label =
        side.head.meta.as_ref().map(|meta| format!("{}  ", printable(&meta.label))).unwrap_or_default();
    let calls = units::count(side.index.calls.len() as u64, "call");
    format!("{label}{}  {calls}", printable(&side.path.display().to_string()))
}

/// A line on calls, and one on definitions if they have changed.
fn summary(comparison: &Comparison) -> Vec<String> {
    let (summary, changes) = (&comparison.summary, comparison.drift.changes.len() as u64);
    let mut parts = vec![format!("{} unchanged", units::count(summary.same, "call"))];
    let counts = [
        (summary.changed, "changed"),
        (summary.added, "added"),
        (summary.removed, "removed"),
        (summary.slower, "slower"),
        (summary.faster, "faster"),
    ];
    parts.extend(counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    let calls = parts.join(", ");
    if changes == 0 {
        let is_same = parts.len() == 1;
        return vec![if is_same { format!("No differences: {calls}") } else { calls }];
    }
    let breaking = match comparison.drift.breaking() {
        0 => String::new(),
        n => format!(", {n} breaking"),
    };
    vec![calls, format!("{}{breaking}", units::count(changes, "definition change"))]
}

fn name(call: &IndexedCall) -> String {
    let arrow = if call.direction == Direction::ClientToServer { "" } else { "← " };
    let method = if call.method.is_empty() { "(no method)" } else { &*call.method };
    match &call.name {
        Some(name) => format!("{arrow}{} {}", printable(method), printable(name)),
        None => format!("{arrow}{}", printable(method)),
    }
}

fn outcome(call: &IndexedCall) -> String {
    match call.http_status {
        Some(status) => format!("{} {status}", call.outcome.name()),
        None => call.outcome.name().to_owned(),
    }
}

fn lines(pair: Pair<'_>) -> String {
    match (pair.first, pair.second) {
        (Some(first), Some(second)) => format!("A {} · B {}", first.request.line, second.request.line),
        (Some(first), None) => format!("A {}", first.request.line),
        (None, Some(second)) => format!("B {}", second.request.line),
        (None, None) => String::new(),
    }
}
