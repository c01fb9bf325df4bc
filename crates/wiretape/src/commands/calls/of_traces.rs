//! Calls of traces, which are read in full. After the first rows, which determine the column widths, calls are
//! printed as soon as their order is certain, so that a long trace needs little memory.

use super::row::{COLUMNS, CallJson, CallLine};
use crate::calls::DisplayFormat;
use crate::error::CommandError;
use crate::output::{self, Output, Table};
use crate::trace_file::{self, Head};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use wiretape_analyze::call::Call;
use wiretape_analyze::clock::TraceClock;
use wiretape_analyze::filter::Filter;
use wiretape_analyze::listing::CallLister;
use wiretape_library::catalog::shortest_prefixes;
use wiretape_trace::format::Record;

/// The minimum length of a trace id prefix.
const SHORTEST_ID: usize = 4;

/// Reads the traces and lists their calls.
pub(super) fn run(paths: &[PathBuf], filter: &Filter, limit: u64, json: bool) -> Result<(), CommandError> {
    let mut heads = Vec::new();
    let mut recordings: Vec<Vec<&Path>> = Vec::new();
    for path in paths {
        let head = trace_file::head(path)?;
        match recordings.last_mut() {
            // Parts of a recording are read as one trace: a call may be answered in the next part.
            Some(parts) if parts.last().is_some_and(|before| trace_file::goes_on(&head, before)) => {
                parts.push(path);
            }
            _ => {
                recordings.push(vec![path]);
                heads.push((path.as_path(), head));
            }
        }
    }
    let named = trace_names(&heads).into_iter().zip(&recordings);
    let names = named.flat_map(|(name, parts)| vec![name; parts.len()]).collect();
    let mut view = CallsView::new(paths, names, limit, json);
    match paths {
        [path] => one(path, filter, &mut view)?,
        _ => several(&recordings, filter, &mut view)?,
    }
    Ok(view.finish()?)
}

/// The name of each recording: its label, with the shortest unique id prefix if another has the same label.
fn trace_names(heads: &[(&Path, Head)]) -> Vec<String> {
    let label = |path: &Path, head: &Head| {
        let label = head.meta.as_ref().map(|meta| meta.label.clone()).filter(|label| !label.is_empty());
        label.unwrap_or_else(|| path.display().to_string())
    };
    let id = |path: &Path, head: &Head| {
        let id = head.meta.as_ref().and_then(|meta| meta.id.clone());
        id.unwrap_or_else(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    };
    let labels: Vec<String> = heads.iter().map(|(path, head)| label(path, head)).collect();
    let ids: Vec<String> = heads.iter().map(|(path, head)| id(path, head)).collect();
    let borrowed: Vec<&str> = ids.iter().map(String::as_str).collect();
    let short = shortest_prefixes(&borrowed, borrowed.iter().copied(), SHORTEST_ID);
    let is_shared = |label: &String| labels.iter().filter(|other| *other == label).count() > 1;
    let name = |(label, id): (&String, String)| {
        if is_shared(label) { format!("{label} {id}") } else { label.clone() }
    };
    labels.iter().zip(short).map(name).collect()
}

fn one(path: &Path, filter: &Filter, view: &mut CallsView<'_>) -> Result<(), CommandError> {
    let mut reader =
        if view.is_quiet() { trace_file::open_with_progress(path)? } else { trace_file::open(path)? };
    let mut lister = CallLister::new(filter.clone());
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        lister.observe(&line, |call| view.call(0, &call));
        if view.write_buffered()?.is_break() {
            return Ok(());
        }
    }
    lister.finish(trace_file::recording_state(path), |call| view.call(0, &call));
    if view.write_buffered()?.is_continue() {
        trace_file::report_damage(path, &reader);
    }
    Ok(())
}

/// A recording in a merge: its calls wait for earlier calls of the others.
struct MergeSource<'a> {
    /// The index of its first file among all files.
    first: usize,
    path: &'a Path,
    /// The following parts of the recording.
    rest: VecDeque<&'a Path>,
    reader: trace_file::FileReader,
    lister: Option<CallLister>,
    clock: TraceClock,
    /// Calls in their final order, each with the time of its request.
    due: VecDeque<Call>,
}

/// Lists the calls of several recordings, merged by time. The order within a recording is kept.
fn several(recordings: &[Vec<&Path>], filter: &Filter, view: &mut CallsView<'_>) -> Result<(), CommandError> {
    let mut sources = Vec::new();
    let mut first = 0;
    for parts in recordings {
        let mut rest: VecDeque<&Path> = parts.iter().copied().collect();
        let Some(path) = rest.pop_front() else { continue };
        let (reader, lister) = (trace_file::open(path)?, Some(CallLister::new(filter.clone())));
        let (clock, due) = (TraceClock::default(), VecDeque::new());
        sources.push(MergeSource { first, path, rest, reader, lister, clock, due });
        first += parts.len();
    }
    loop {
        for source in &mut sources {
            source.fill()?;
        }
        // The source is part of the key, so that calls of the same time are in the order of the arguments.
        let times = sources.iter().enumerate().filter_map(|(n, source)| Some((source.next_time()?, n)));
        let Some((_, earliest)) = times.min() else { break };
        if let Some(call) = sources[earliest].due.pop_front() {
            view.call(sources[earliest].first, &call);
        }
        if view.write_buffered()?.is_break() {
            return Ok(());
        }
    }
    for source in &sources {
        trace_file::report_damage(source.path, &source.reader);
    }
    Ok(())
}

impl MergeSource<'_> {
    /// Reads until a call is complete, or to the end.
    fn fill(&mut self) -> Result<(), CommandError> {
        while self.due.is_empty() {
            let Some(lister) = &mut self.lister else { return Ok(()) };
            let due = &mut self.due;
            match trace_file::next_line(&mut self.reader, self.path)? {
                Some(line) => {
                    if let Record::Meta(meta) = &line.record {
                        self.clock.observe_meta(meta);
                    }
                    if let Some(stamp) = line.record.stamp() {
                        self.clock.at(stamp);
                    }
                    lister.observe(&line, |call| due.push_back(call));
                }
                None => {
                    if let Some(next) = self.rest.pop_front() {
                        trace_file::report_damage(self.path, &self.reader);
                        (self.reader, self.path) = (trace_file::open(next)?, next);
                    } else if let Some(lister) = self.lister.take() {
                        lister.finish(trace_file::recording_state(self.path), |call| due.push_back(call));
                    }
                }
            }
        }
        Ok(())
    }

    /// The time of the next call's request, in microseconds since 1970.
    fn next_time(&self) -> Option<i64> {
        let call = self.due.front()?;
        Some(self.clock.when(call.asked.us, call.asked.wall_ms))
    }
}

/// How many rows determine the column widths.
const SAMPLE: usize = 500;

/// Where calls are listed.
struct CallsView<'a> {
    paths: &'a [PathBuf],
    names: Vec<String>,
    left: u64,
    format: CallsFormat,
    /// The first error, reported at the end.
    failed: Option<io::Error>,
    shown: u64,
}

enum CallsFormat {
    Text { out: Box<Output>, look: DisplayFormat, table: Box<Table>, rows: usize },
    Json(Box<dyn Write>),
}

impl<'a> CallsView<'a> {
    fn new(paths: &'a [PathBuf], names: Vec<String>, limit: u64, json: bool) -> Self {
        let format = if json {
            CallsFormat::Json(Box::new(output::machine_stdout()))
        } else {
            let out = Box::new(Output::stdout());
            CallsFormat::Text {
                look: DisplayFormat::of(&out),
                out,
                table: Box::new(Table::new(&COLUMNS)),
                rows: 0,
            }
        };
        CallsView { paths, names, left: limit, format, failed: None, shown: 0 }
    }

    /// Whether nothing is printed until the end.
    fn is_quiet(&self) -> bool {
        !matches!(&self.format, CallsFormat::Text { out, .. } if out.is_terminal())
    }

    fn call(&mut self, trace: usize, call: &Call) {
        if self.left == 0 || self.failed.is_some() {
            return;
        }
        self.left -= 1;
        self.shown += 1;
        let name = (self.names.len() > 1).then(|| self.names[trace].as_str());
        let written = match &mut self.format {
            CallsFormat::Json(sink) => {
                output::write_json_lines(sink, [CallJson::new(&self.paths[trace], call)])
            }
            CallsFormat::Text { out, look, table, rows } => {
                let styles = out.styles;
                let cells = CallLine { call, trace: name }.cells(look, &styles);
                write_row(out, table, rows, cells)
            }
        };
        self.failed = written.err();
    }

    fn write_buffered(&mut self) -> io::Result<ControlFlow<()>> {
        match self.failed.take() {
            Some(error) => Err(error),
            None if self.left == 0 => Ok(ControlFlow::Break(())),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self.format {
            CallsFormat::Json(mut sink) => sink.flush(),
            CallsFormat::Text { mut out, .. } if self.shown == 0 => {
                writeln!(out, "No calls match this filter.")?;
                out.flush()
            }
            CallsFormat::Text { mut out, mut table, rows, .. } => {
                // Otherwise the table was already written, and with it the widths are fixed.
                if rows <= SAMPLE {
                    table.drop_empty();
                    let (styles, width) = (out.styles, out.width);
                    table.write(&mut out, &styles, width)?;
                }
                out.flush()
            }
        }
    }
}

/// The first rows are buffered, so that the columns fit them; later rows are written as they arrive.
fn write_row(
    out: &mut Output,
    table: &mut Table,
    rows: &mut usize,
    cells: Vec<crate::output::Cell>,
) -> io::Result<()> {
    let (styles, width) = (out.styles, out.width);
    *rows += 1;
    if *rows <= SAMPLE {
        table.row(cells);
        return Ok(());
    }
    if *rows == SAMPLE + 1 {
        table.write(out, &styles, width)?;
        table.keep_widths(width);
    }
    table.write_later(out, &cells, width)
}
