//! Reports: a trace and the page that shows it, in one file that needs no server and no network.
//!
//! The trace is first copied and redacted with the current rules; everything in the report is computed from
//! that copy. The responses that the page would get from a server are written into the file, and the lines in
//! compressed pieces.

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
use wiretape_trace::format::CopyChain;
use wiretape_trace::redact::markers;

/// The limit for traces in a report: browsers can't open larger files.
pub const LARGEST: u64 = 256 << 20;

/// A trace for a report.
#[derive(Debug, Clone)]
pub struct ReportTrace {
    /// Its file, or the parts of a rotated recording in order. They are one trace in the report: a call may begin in
    /// one part and end in the next.
    pub files: Vec<PathBuf>,
    /// The state of its recording.
    pub state: TraceState,
}

/// The inputs of a report.
pub struct ReportOptions<'o> {
    /// The traces of the report, in order.
    pub traces: &'o [ReportTrace],
    /// Redacts a line of a trace.
    pub redact: &'o dyn Fn(&[u8]) -> Vec<u8>,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// The counts of a report that was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of lines of the traces.
    pub lines: u64,
    /// The number of lines in which something was redacted.
    pub redacted: u64,
}

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The program has no page.
    #[error("this build of wiretape has no page, which a report needs")]
    NoPage,
    /// The traces are too large.
    #[error("the traces total {}; a report holds at most {}", wiretape_analyze::glance::bytes(*.0), wiretape_analyze::glance::bytes(LARGEST))]
    TooLarge(u64),
    /// A trace can't be read.
    #[error("can't read {}", path.display())]
    Read {
        /// The path of the trace.
        path: PathBuf,
        /// The error that ended reading.
        source: io::Error,
    },
    /// The report can't be written.
    #[error("can't write the report")]
    Write(#[from] io::Error),
}

/// Writes traces and the page as one HTML file, with secrets redacted by the current rules.
pub fn write(options: &ReportOptions<'_>, out: &mut dyn Write) -> Result<Written, ReportError> {
    let page = PAGE.as_ref().ok_or(ReportError::NoPage)?;
    let (mut traces, mut written) = (Vec::new(), Written::default());
    let mut room = LARGEST;
    for trace in options.traces {
        let copy = copy(trace, options.redact, &mut written)?;
        // Checked after copying: the size of a compressed trace is only known then.
        let length = copy.len();
        room = room.checked_sub(length).ok_or(ReportError::TooLarge(LARGEST - room + length))?;
        traces.push(open(trace, copy)?);
    }
    let set = Set { traces };
    let report = gather::gather(&set, written.redacted, options.now_ms)?;
    html::write(page, &set, &report, out)?;
    Ok(written)
}

/// A redacted copy in an unnamed temporary file, which the system removes with the process.
fn copy(
    trace: &ReportTrace,
    redact: &dyn Fn(&[u8]) -> Vec<u8>,
    written: &mut Written,
) -> Result<PlainTrace, ReportError> {
    let mut out = BufWriter::new(tempfile::tempfile()?);
    let (mut chain, mut copied) = (CopyChain::default(), Vec::new());
    for path in &trace.files {
        let failed = |source| ReportError::Read { path: path.clone(), source };
        let mut reader = open_trace(path).map_err(io::Error::other).map_err(failed)?;
        while let Some(line) = reader.next_line().map_err(|error| failed(error.source))? {
            let clean = redact(line.bytes);
            written.lines += 1;
            // By their markers: `meta` also changes to say that this is a redacted copy.
            written.redacted += u64::from(clean != line.bytes && markers(&clean) != markers(line.bytes));
            copied.clear();
            chain.push_line(&mut copied, line.bytes, &clean);
            out.write_all(&copied)?;
        }
    }
    Ok(PlainTrace::of_file(out.into_inner().map_err(io::IntoInnerError::into_error)?))
}

/// Reads the copy completely.
fn open(trace: &ReportTrace, copy: PlainTrace) -> io::Result<Arc<OpenTrace>> {
    let first = trace.files.first().and_then(|path| path.file_name());
    let file = first.unwrap_or_default().to_string_lossy().into_owned();
    let state = trace.state.clone();
    let open = OpenTrace::of_source(file.clone(), file, copy, Arc::new(move || state.clone()))?;
    while !open.progress().is_complete {
        thread::sleep(Duration::from_millis(2));
    }
    Ok(open)
}
