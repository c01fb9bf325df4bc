//! Reports: a trace and the page that shows it, in one file that needs no server and no network.
//!
//! The trace is copied first, without its secrets by the rules of today; all that the report says is found out from
//! that copy. What the page would ask a server is written into the file, and the lines themselves in packed pieces.

mod gather;
mod html;

use crate::page::PAGE;
use crate::query::Set;
use crate::trace::OpenTrace;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wiretape_library::{PlainTrace, TraceState, open as open_trace};

/// Larger traces are not put into a page: no browser would open it.
pub const LARGEST: u64 = 256 << 20;

/// A trace for a report.
#[derive(Debug, Clone)]
pub struct ReportTrace {
    /// Its file.
    pub path: PathBuf,
    /// Whether its recording has ended, and how.
    pub state: TraceState,
}

/// What a report is made of.
pub struct ReportOptions<'o> {
    /// The traces.
    pub traces: &'o [ReportTrace],
    /// A line of a trace without its secrets.
    pub redact: &'o dyn Fn(&[u8]) -> Vec<u8>,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// How many lines the traces have.
    pub lines: u64,
    /// In how many of them something secret was taken out.
    pub redacted: u64,
}

/// A report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The program has no page.
    #[error("this wiretape was built without its page, and a report is a page")]
    NoPage,
    /// The traces are too large.
    #[error("the traces have {} in all; a report holds {} at most", wiretape_analyze::glance::bytes(*.0), wiretape_analyze::glance::bytes(LARGEST))]
    TooLarge(u64),
    /// A trace can't be read.
    #[error("can't read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The report can't be written.
    #[error("can't write the report")]
    Write(#[from] io::Error),
}

/// Writes a report.
pub fn write(options: &ReportOptions<'_>, out: &mut dyn Write) -> Result<Written, ReportError> {
    let page = PAGE.as_ref().ok_or(ReportError::NoPage)?;
    let (mut traces, mut written) = (Vec::new(), Written::default());
    let mut room = LARGEST;
    for trace in options.traces {
        let failed = |source| ReportError::Read { path: trace.path.clone(), source };
        let copy = copy(trace, options.redact, &mut written).map_err(failed)?;
        let length = copy.len();
        room = room.checked_sub(length).ok_or(ReportError::TooLarge(LARGEST - room + length))?;
        traces.push(open(trace, copy).map_err(failed)?);
    }
    let set = Set { traces };
    let report = gather::gather(&set, written.redacted, options.now_ms)?;
    html::write(page, &set, &report, out)?;
    Ok(written)
}

/// A copy without secrets, in a file without a name: the system removes it with the process.
fn copy(
    trace: &ReportTrace,
    redact: &dyn Fn(&[u8]) -> Vec<u8>,
    written: &mut Written,
) -> io::Result<PlainTrace> {
    let mut reader = open_trace(&trace.path).map_err(io::Error::other)?;
    let mut out = BufWriter::new(tempfile::tempfile()?);
    while let Some(line) = reader.next_line().map_err(|error| error.source)? {
        let clean = redact(line.bytes);
        written.lines += 1;
        written.redacted += u64::from(clean != line.bytes);
        out.write_all(&clean)?;
        out.write_all(b"\n")?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error).map(PlainTrace::of_file)
}

/// Reads the copy, to its end.
fn open(trace: &ReportTrace, copy: PlainTrace) -> io::Result<Arc<OpenTrace>> {
    let file = trace.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let state = trace.state.clone();
    let open = OpenTrace::of_source(file.clone(), file, copy, Arc::new(move || state.clone()))?;
    while !open.progress().is_complete {
        thread::sleep(Duration::from_millis(2));
    }
    Ok(open)
}
