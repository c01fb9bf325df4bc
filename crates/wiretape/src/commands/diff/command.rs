//! The arguments of `diff`, and its dispatch.

use super::rows::{Comparison, Side, mark_equivalent};
use super::{json_view, text_view};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::trace_file::{self, TraceFileError};
use crate::units;
use clap::Args;
use std::path::Path;
use std::time::Duration;
use wiretape_analyze::diff::{
    self, CallIndex, CallIndexer, Comparer, GeneratedValues, Ignored, Pace, Summary,
};
use wiretape_analyze::drift;
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_analyze::volatile::{PathPattern, Volatile};

/// Compare the calls of two traces
///
/// Aligns calls by their requests, so that an added or removed call does not affect how the calls after it
/// are matched. Requests, responses and the server's definitions are compared as JSON; values that differ
/// between runs (times, ids, trace contexts) are ignored. The exit code is 0 without differences, 1 with
/// differences, and 2 if the traces can't be compared.
#[derive(Debug, Args)]
#[command(after_help = "\
PATH is a JSON pointer into the params, the result or the error of a message: /content/*/text.
`*` matches one step, `**` any number. params/PATH, result/PATH and error/PATH select one of them.

Examples:
  wiretape diff latest~1 latest
  wiretape diff good.jsonl bad.jsonl --ignore 'result/**/etag'
  wiretape diff before.jsonl after.jsonl --slower 20%
  wiretape diff a.jsonl b.jsonl --json | jq 'select(.status == \"changed\")'")]
pub(crate) struct DiffArgs {
    /// The earlier trace: a path, an id prefix, or `latest~1`
    #[arg(value_name = "A")]
    first: TraceSelector,

    /// The later trace
    #[arg(value_name = "B")]
    second: TraceSelector,

    /// Ignore the value at PATH (repeatable)
    #[arg(long, value_name = "PATH", value_parser = parse_pattern)]
    ignore: Vec<PathPattern>,

    /// Ignore only the values given with --ignore, not the default ones (see docs/diff.md)
    #[arg(long)]
    no_default_ignores: bool,

    /// Report calls that are slower by this percentage (default: 50%), or `none`; if given, they count as a difference
    #[arg(long, value_name = "PERCENT", value_parser = parse_slower)]
    slower: Option<Slower>,

    /// Ignore slowdowns smaller than this
    #[arg(long = "min-slowdown", alias = "slower-floor", value_name = "DURATION", default_value = "20ms", value_parser = units::parse_duration)]
    min_slowdown: Duration,

    /// Show N unchanged calls around each changed one
    #[arg(short = 'U', long, value_name = "N", default_value_t = 0)]
    context: usize,

    /// Accepted for compatibility with `git diff`: the exit code always reflects differences
    #[arg(long = "exit-code", hide = true)]
    _exit_code: bool,

    /// Print one JSON object per line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

/// The slowdown that is reported, if any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slower(pub(crate) Option<f64>);

const DEFAULT_SLOWER: Slower = Slower(Some(0.5));

pub(crate) fn parse_slower(text: &str) -> Result<Slower, String> {
    if text == "none" {
        return Ok(Slower(None));
    }
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    match percent.filter(|percent| percent.is_finite() && *percent >= 0.0) {
        Some(percent) => Ok(Slower(Some(percent / 100.0))),
        None => Err(format!("`{text}` is not a percentage: expected e.g. 50%")),
    }
}

pub(crate) fn parse_pattern(text: &str) -> Result<PathPattern, String> {
    text.parse().map_err(|error: wiretape_analyze::volatile::PatternError| error.to_string())
}

pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode, CommandError> {
    let ignored = Ignored::new(volatile(args));
    let (first, second) = (read(&args.first, &ignored)?, read(&args.second, &ignored)?);
    // After reading: only then is it known which patterns matched.
    check_ignored(&args.ignore)?;
    let made_up = if args.no_default_ignores { GeneratedValues::Compared } else { GeneratedValues::Ignored };
    let comparer = Comparer::new(ignored, &first.index, &second.index, made_up);
    let mut rows = diff::align(&first.index, &second.index);
    mark_equivalent(&mut rows, &first, &second, &comparer)?;
    // Slower calls are listed by default, but only an explicit --slower makes them a difference: timings vary between runs.
    let pace = args.slower.unwrap_or(DEFAULT_SLOWER).0;
    let floor_us = u64::try_from(args.min_slowdown.as_micros()).unwrap_or(u64::MAX);
    let pace = pace.map(|ratio| Pace { ratio, floor_us });
    let summary = Summary::of(&rows, &first.index, &second.index, pace);
    let drift = drift::compare(&first.index.definitions, &second.index.definitions);
    let comparison = Comparison { first, second, comparer, rows, pace, summary, drift };
    if args.json {
        json_view::print(&comparison)?;
    } else {
        text_view::print(&comparison, args.context)?;
    }
    let is_slower = args.slower.is_some() && summary.slower > 0;
    let differs = summary.differs() || !comparison.drift.changes.is_empty() || is_slower;
    Ok(if differs { ExitCode::FOUND } else { ExitCode::OK })
}

/// A path that matches nothing is most likely a typo, and the value it should ignore would be reported as a difference.
fn check_ignored(patterns: &[PathPattern]) -> Result<(), CommandError> {
    match patterns.iter().find(|pattern| !pattern.has_matched()) {
        None => Ok(()),
        Some(pattern) => Err(CommandError::usage(format!(
            "--ignore {} matches nothing in either trace that is not ignored by default",
            printable(&pattern.to_string())
        ))
        .hint("see docs/diff.md for paths; `wiretape diff --json` prints the paths of all differences")),
    }
}

fn volatile(args: &DiffArgs) -> Volatile {
    let mut volatile = if args.no_default_ignores { Volatile::nothing() } else { Volatile::defaults() };
    args.ignore.iter().for_each(|pattern| volatile.add(pattern));
    volatile
}

fn read(selector: &TraceSelector, ignored: &Ignored) -> Result<Side, CommandError> {
    let path = selector.resolve()?;
    let head = trace_file::head(&path)?;
    let index = index(&path, ignored)?;
    Ok(Side { path, head, index })
}

fn index(path: &Path, ignored: &Ignored) -> Result<CallIndex, TraceFileError> {
    let mut reader = trace_file::open(path)?;
    let mut reading = Reading::new(CallIndexer::new(ignored));
    loop {
        let line = reader.next_line();
        let line = line.map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
        let Some(line) = line else { break };
        reading.observe(&line);
    }
    trace_file::report_damage(path, &reader);
    // A trace that is still being recorded is compared as far as it goes.
    Ok(reading.finish(RecordingState::Over).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_understood() {
        let check =
            |text, expected: Option<f64>| assert_eq!(parse_slower(text), Ok(Slower(expected)), "{text}");
        check("50%", Some(0.5));
        check("200 %", Some(2.0));
        check("5", Some(0.05));
        check("none", None);
        for text in ["", "%", "-3%", "much", "inf"] {
            assert!(parse_slower(text).is_err(), "{text}");
        }
    }
}
