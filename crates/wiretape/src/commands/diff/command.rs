//! The arguments, and what is done with them.

use super::rows::{Comparison, Side, settle};
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
use wiretape_analyze::diff::{self, CallIndex, CallIndexer, Comparer, Ignored, MadeUp, Pace, Summary};
use wiretape_analyze::drift;
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_analyze::volatile::{PathPattern, Volatile};

/// Compare the calls of two traces
///
/// Calls are put side by side by what they ask, so that one more or one less shifts nothing. What they ask and what they were
/// answered is compared as JSON, and what the server offers besides. Times, ids and trace contexts are left out.
/// The exit code is 0 if nothing differs, 1 if something does, and 2 if the traces can't be compared.
#[derive(Debug, Args)]
#[command(after_help = "\
PATH is a JSON pointer into the params, the result or the error of a message: /content/*/text.
`*` stands for any one step, `**` for any number. params/PATH, result/PATH and error/PATH mean one of them only.

Examples:
  wiretape diff latest~1 latest
  wiretape diff good.jsonl bad.jsonl --ignore 'result/**/etag'
  wiretape diff before.jsonl after.jsonl --slower 20%
  wiretape diff a.jsonl b.jsonl --json | jq 'select(.status == \"changed\")'")]
pub(crate) struct DiffArgs {
    /// The earlier trace: a path, the beginning of an id, or `latest~1`
    #[arg(value_name = "A")]
    first: TraceSelector,

    /// The later trace
    #[arg(value_name = "B")]
    second: TraceSelector,

    /// Leave out what stands at this path; may be given several times
    #[arg(long, value_name = "PATH", value_parser = parse_pattern)]
    ignore: Vec<PathPattern>,

    /// Leave out nothing but what --ignore says, not even times and ids (docs/diff.md lists them)
    #[arg(long)]
    no_default_ignores: bool,

    /// Report calls that take this much longer (default: 50%), or `none`; if given, they count as a difference
    #[arg(long, value_name = "PERCENT", value_parser = parse_slower)]
    slower: Option<Slower>,

    /// Ignore slowdowns smaller than this
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = units::parse_duration)]
    slower_floor: Duration,

    /// Show so many calls that are the same around each that is not
    #[arg(short = 'U', long, value_name = "N", default_value_t = 0)]
    context: usize,

    /// Has no effect: the exit code always says whether there is a difference. `git diff` needs the option for that
    #[arg(long = "exit-code", hide = true)]
    _exit_code: bool,

    /// Print one JSON object a line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

/// How much slower a call must be, if that matters.
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
        None => Err(format!("`{text}` is not a percentage; write it like 50%")),
    }
}

pub(crate) fn parse_pattern(text: &str) -> Result<PathPattern, String> {
    text.parse().map_err(|error: wiretape_analyze::volatile::PatternError| error.to_string())
}

/// Runs the command.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode, CommandError> {
    let ignored = Ignored::new(volatile(args));
    let (first, second) = (read(&args.first, &ignored)?, read(&args.second, &ignored)?);
    check_ignored(&args.ignore)?;
    let made_up = if args.no_default_ignores { MadeUp::Compared } else { MadeUp::LeftOut };
    let comparer = Comparer::new(ignored, &first.index, &second.index, made_up);
    let mut rows = diff::align(&first.index, &second.index);
    settle(&mut rows, &first, &second, &comparer)?;
    let pace = args.slower.unwrap_or(DEFAULT_SLOWER).0;
    let floor_us = u64::try_from(args.slower_floor.as_micros()).unwrap_or(u64::MAX);
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

/// A path that matches nothing is most likely a slip, and what it was meant to leave out would be told as a difference.
fn check_ignored(patterns: &[PathPattern]) -> Result<(), CommandError> {
    match patterns.iter().find(|pattern| !pattern.has_matched()) {
        None => Ok(()),
        Some(pattern) => Err(CommandError::usage(format!(
            "--ignore {} matches nothing in either trace that is not ignored by default",
            printable(&pattern.to_string())
        ))
        .hint("docs/diff.md explains paths; `wiretape diff --json` prints those of all differences")),
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
    trace_file::tell_damage(path, &reader);
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
