//! The command: reads, follows and filters; the views write.

use super::filter::Filter;
use super::item::{Item, LineItems, items};
use super::json_view;
use super::text_view::{Detail, TextView};
use crate::error::CommandError;
use crate::output::{self, Output};
use crate::selector::TraceSelector;
use crate::trace_file::{self, FileReader, Head, TraceFileError};
use crate::{units, words};
use clap::Args;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wiretape_analyze::call::Call;
use wiretape_analyze::filter::Filter as Words;
use wiretape_analyze::listing::CallLister;
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_library::{Liveness, TraceState, liveness, recorder};
use wiretape_trace::format::{Line, Notice, Record};

/// Show the messages of traces, one per line
///
/// Shows the line number, the offset from the start of the recording, the direction (→ client to server, ← server to
/// client), the method, the tool and the id. A response also names the request that it answers, and its duration. Several
/// traces are shown one after the other.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape show latest                         the newest trace
  wiretape show 0197 --errors                  failures in the trace whose id starts with 0197
  wiretape show latest tool:search*            calls of some tools, with their responses
  wiretape show latest text:quota dir:out      server messages with this text
  wiretape show a.jsonl b.jsonl                two traces, one after the other
  wiretape show latest -f                      follow a running session
  wiretape show trace.jsonl --full | less      all payloads, pretty-printed
  wiretape show trace.jsonl --json | jq .raw   all payloads, for scripts

See `wiretape calls --help` for all filter terms.")]
pub(crate) struct ShowArgs {
    /// Traces (paths, id prefixes, `latest`, or `latest~1` for the one before) and filter terms for messages or their calls,
    /// such as `tool:search*` or `latency>200ms`
    #[arg(value_name = "TRACE|FILTER", required = true)]
    words: Vec<OsString>,

    /// Show at most N lines
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Keep reading while the trace grows, until it ends
    #[arg(short, long)]
    follow: bool,

    /// Print each payload below its line, pretty-printed, with all digits as recorded
    #[arg(long)]
    full: bool,

    /// Print one JSON object per line, payloads verbatim (schema: docs/json-output.md)
    #[arg(long, conflicts_with = "full")]
    json: bool,

    /// Print only the payloads, one per line, verbatim
    #[arg(long, conflicts_with_all = ["full", "json"])]
    raw: bool,

    #[command(flatten)]
    filter: Filter,
}

/// The polling interval for a growing trace.
const POLL: Duration = Duration::from_millis(100);

/// How many polls (3 seconds) to wait for something that should appear soon.
const PATIENCE: u32 = 30;

pub(crate) fn run(mut args: ShowArgs) -> Result<(), CommandError> {
    let traces = args.take_traces()?;
    let paths = traces.iter().map(TraceSelector::resolve).collect::<Result<Vec<_>, _>>()?;
    match paths.as_slice() {
        [] => Err(CommandError::usage("TRACE is required: a path, an id prefix, or `latest`")),
        [path] if args.follow => {
            let head = wait_for_head(path)?;
            let state = TraceState::new(path, &trace_file::ending(path)?);
            Show::new(&args, path, &head, &state)?.follow(path.clone(), head)
        }
        _ if args.follow => Err(CommandError::usage("--follow needs exactly one TRACE")),
        paths => show_all(&args, paths),
    }
}

/// Shows traces one after the other.
fn show_all(args: &ShowArgs, paths: &[PathBuf]) -> Result<(), CommandError> {
    let mut left = args.limit;
    let mut reading = Reading::default();
    let mut before: Option<&Path> = None;
    for path in paths {
        let head = trace_file::head(path)?;
        let state = TraceState::new(path, &trace_file::ending(path)?);
        if before.is_some() && args.is_for_people() {
            let mut out = Output::stdout();
            writeln!(out)?;
            out.flush()?;
        }
        let mut show = Show::new(args, path, &head, &state)?;
        show.left = left;
        if before.is_some_and(|before| trace_file::goes_on(&head, before)) {
            // A request in the previous part may be answered in this one.
            show.reading = reading;
        }
        show.whole(path, &state)?;
        (left, reading) = (show.left, show.reading);
        if left == Some(0) {
            break;
        }
        before = Some(path);
    }
    Ok(())
}

impl ShowArgs {
    /// Sorts the words: traces are returned, filter terms are added to the filters.
    fn take_traces(&mut self) -> Result<Vec<TraceSelector>, CommandError> {
        let mut traces = Vec::new();
        for word in &self.words {
            let sorted = words::Words::parse(std::slice::from_ref(word))?;
            if sorted.traces.is_empty() {
                self.filter.words.push(sorted.filter);
            }
            traces.extend(sorted.traces);
        }
        Ok(traces)
    }

    fn is_for_people(&self) -> bool {
        !self.json && !self.raw
    }
}

/// The line numbers of the calls that pass: requests, responses and cancellations.
fn lines_of_calls(path: &Path, words: Words) -> Result<BTreeSet<u64>, CommandError> {
    let mut reader = trace_file::open(path)?;
    let mut lister = CallLister::new(words);
    let mut lines = BTreeSet::new();
    let mut add = |call: Call| {
        lines.extend(
            [Some(call.request), call.response, call.cancelled].into_iter().flatten().map(|place| place.line),
        );
    };
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        lister.observe(&line, &mut add);
    }
    lister.finish(trace_file::recording_state(path), add);
    Ok(lines)
}

/// The header of a followed trace, which may have been created just now and be empty.
fn wait_for_head(path: &Path) -> Result<Head, TraceFileError> {
    let mut patience = PATIENCE;
    loop {
        match trace_file::head(path) {
            Err(TraceFileError::Empty { .. } | TraceFileError::NoWholeLine { .. }) if patience > 0 => {
                // A running recorder will write its first line, however busy the machine is.
                if liveness(path) != Liveness::Running {
                    patience -= 1;
                }
                std::thread::sleep(POLL);
            }
            other => return other,
        }
    }
}

/// Where records are written.
enum ShowView {
    Text(Box<TextView>),
    Json(Box<dyn Write>),
    Raw(Box<dyn Write>),
}

impl ShowView {
    fn new(args: &ShowArgs, path: &Path, head: &Head, state: &TraceState) -> io::Result<Self> {
        if args.json {
            return Ok(ShowView::Json(Box::new(output::machine_stdout())));
        }
        if args.raw {
            return Ok(ShowView::Raw(Box::new(output::machine_stdout())));
        }
        let detail = if args.full { Detail::Full } else { Detail::OneLine };
        let mut view = TextView::new(Output::stdout(), detail, head);
        view.header(path, head, state)?;
        Ok(ShowView::Text(Box::new(view)))
    }

    fn record(
        &mut self,
        line: &Line<'_>,
        items: &[Item<'_>],
        passed: &[(usize, &Item<'_>)],
    ) -> io::Result<()> {
        match self {
            ShowView::Text(view) => view.record(line, passed),
            ShowView::Json(sink) => {
                sink.write_all(&json_view::object(line, items))?;
                sink.write_all(b"\n")
            }
            ShowView::Raw(sink) => {
                if let Record::Message(message) = &line.record {
                    sink.write_all(message.raw)?;
                    sink.write_all(b"\n")?;
                }
                Ok(())
            }
        }
    }

    fn unanswered(&mut self, calls: &[&Call]) -> io::Result<()> {
        match self {
            ShowView::Text(view) => view.unanswered(calls),
            ShowView::Json(_) | ShowView::Raw(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ShowView::Text(view) => view.flush(),
            ShowView::Json(sink) | ShowView::Raw(sink) => sink.flush(),
        }
    }
}

struct Show<'a> {
    view: ShowView,
    filter: &'a Filter,
    left: Option<u64>,
    reading: Reading<LineItems>,
    label: Option<String>,
    /// The lines of the selected calls, if there is a filter on calls.
    selected: Option<BTreeSet<u64>>,
}

enum Stop {
    /// The recording has ended.
    Ended,
    /// The recording continues in the file of this name.
    Rotated(String),
    /// The line limit is reached.
    Enough,
}

impl<'a> Show<'a> {
    fn new(args: &'a ShowArgs, path: &Path, head: &Head, state: &TraceState) -> Result<Self, CommandError> {
        // The outcome of a call that is followed is not known yet.
        let of_calls = args.filter.of_calls().filter(|_| !args.follow);
        Ok(Show {
            view: ShowView::new(args, path, head, state)?,
            filter: &args.filter,
            left: args.limit,
            reading: Reading::default(),
            label: head.meta.as_ref().map(|meta| meta.label.clone()),
            selected: of_calls.map(|words| lines_of_calls(path, words)).transpose()?,
        })
    }

    fn whole(&mut self, path: &Path, state: &TraceState) -> Result<(), CommandError> {
        let mut reader = trace_file::open(path)?;
        let mut stop = None;
        while stop.is_none() {
            match self.read(&mut reader, path)? {
                // Lines after an `end` are shown as well.
                ControlFlow::Break(Stop::Ended | Stop::Rotated(_)) => {}
                ControlFlow::Break(Stop::Enough) => stop = Some(Stop::Enough),
                ControlFlow::Continue(()) => stop = Some(Stop::Ended),
            }
        }
        let continues = matches!(state, TraceState::Running | TraceState::Rotated { .. });
        if matches!(stop, Some(Stop::Ended)) && !continues {
            self.report_unanswered()?;
        }
        self.view.flush()?;
        report_notices(&reader, state);
        Ok(())
    }

    fn follow(mut self, mut path: PathBuf, mut head: Head) -> Result<(), CommandError> {
        let mut reader = trace_file::follow(&path)?;
        loop {
            // Checked before reading, so that everything a recorder wrote before it exited is read.
            let alive = recorder(&path, &head);
            match self.read(&mut reader, &path)? {
                ControlFlow::Break(Stop::Ended) => break,
                ControlFlow::Break(Stop::Enough) => return Ok(self.view.flush()?),
                ControlFlow::Break(Stop::Rotated(next)) => match next_part(&path, &next) {
                    Some(part) => {
                        head = wait_for_head(&part)?;
                        reader = trace_file::follow(&part)?;
                        path = part;
                    }
                    None => break,
                },
                ControlFlow::Continue(()) if alive == Liveness::Stopped => {
                    output::note("the recorder exited without writing `end`; the recording was cut off");
                    break;
                }
                ControlFlow::Continue(()) => {
                    self.view.flush()?;
                    std::thread::sleep(POLL);
                }
            }
        }
        self.report_unanswered()?;
        Ok(self.view.flush()?)
    }

    /// Reads and shows the available lines.
    fn read(&mut self, reader: &mut FileReader, path: &Path) -> Result<ControlFlow<Stop>, CommandError> {
        loop {
            let line = reader.next_line();
            let line = line.map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
            let Some(line) = line else { return Ok(ControlFlow::Continue(())) };
            if self.left == Some(0) {
                return Ok(ControlFlow::Break(Stop::Enough));
            }
            self.line(&line)?;
            match line.record {
                Record::End(_) => return Ok(ControlFlow::Break(Stop::Ended)),
                Record::Rotated { next, .. } => return Ok(ControlFlow::Break(Stop::Rotated(next))),
                _ => {}
            }
        }
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        let items = items(&mut self.reading, line);
        let selected = self.selected.as_ref().map(|lines| lines.contains(&line.number));
        let passed: Vec<(usize, &Item<'_>)> = match &line.record {
            Record::Message(message) => items
                .iter()
                .enumerate()
                .filter(|(_, item)| self.filter.passes(item, message, self.label.as_deref(), selected))
                .collect(),
            _ => Vec::new(),
        };
        let shown = match &line.record {
            Record::Message(_) if !items.is_empty() => !passed.is_empty(),
            other => self.filter.passes_other(other),
        };
        if !shown {
            return Ok(());
        }
        if let Some(left) = &mut self.left
            // The text view shows `meta` as a header and not as a line.
            && !matches!((&self.view, &line.record), (ShowView::Text(_), Record::Meta(_)))
        {
            *left -= 1;
        }
        self.view.record(line, &items, &passed)
    }

    fn report_unanswered(&mut self) -> io::Result<()> {
        // With a filter, a list of all unanswered requests would include those that were filtered out.
        if !self.filter.is_empty() {
            return Ok(());
        }
        self.reading.end_recording(RecordingState::Over);
        let calls = std::mem::take(&mut self.reading.analysis_mut().unanswered);
        self.view.unanswered(&calls.iter().collect::<Vec<_>>())
    }
}

/// The next part of a rotated recording, which must be in the same directory.
fn next_part(path: &Path, next: &str) -> Option<PathBuf> {
    // A trace may contain any path here; only a plain file name is followed.
    let name = Path::new(next).file_name().filter(|name| *name == next)?;
    let part = path.with_file_name(name);
    let mut patience = PATIENCE;
    while !part.exists() {
        patience -= 1;
        if patience == 0 {
            output::note(format!("the recording continues in {}, which does not exist", part.display()));
            return None;
        }
        std::thread::sleep(POLL);
    }
    Some(part)
}

fn report_notices(reader: &FileReader, state: &TraceState) {
    /// More notices would hide the messages.
    const MAX_NOTICES: usize = 10;
    let (foreign, notices): (Vec<&Notice>, Vec<&Notice>) = reader
        .notices()
        .iter()
        .partition(|notice| matches!(notice, Notice::UnknownType { .. } | Notice::UnknownDirection { .. }));
    let is_reported = |notice: &&&Notice| **notice != &Notice::MissingEnd || *state == TraceState::NoEnd;
    let notices: Vec<&&Notice> = notices.iter().filter(is_reported).collect();
    for notice in notices.iter().take(MAX_NOTICES) {
        output::note(notice);
    }
    if !foreign.is_empty() {
        let many = units::count(foreign.len() as u64, "line");
        output::note(format!("{many} of an unknown type or direction, shown verbatim"));
    }
    let more = reader.more_notices() + notices.len().saturating_sub(MAX_NOTICES) as u64;
    if more > 0 {
        output::note(format!("and {more} more"));
    }
}
