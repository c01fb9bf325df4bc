//! `wiretape export html`: a report with traces and their viewer, in one file.

use super::export::refuse_to_overwrite;
use crate::config::Config;
use crate::error::CommandError;
use crate::redaction::TraceRedaction;
use crate::selector::TraceSelector;
use crate::{dirs, output, redaction, trace_file, units};
use clap::Args;
use std::cell::RefCell;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use wiretape_library::{Draft, TraceDirectory};
use wiretape_view::report::{self, ReportError, ReportOptions, ReportTrace, Written};

/// Export traces as one HTML file
///
/// The file contains the traces and the page that shows them, and opens in any browser without a server or a network: for
/// bug reports and colleagues. Secrets are redacted again with the current rules, and the page says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape export html latest -o report.html
  wiretape export html client.jsonl server.jsonl -o both.html     merged by time")]
pub(crate) struct HtmlArgs {
    /// Traces: paths, id prefixes, or `latest`
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Write to FILE; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,

    /// Read this configuration file instead of the default one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &HtmlArgs) -> Result<(), CommandError> {
    let redactor = redaction::redactor(Config::load(args.config.as_deref())?.redact, &[])?;
    let directory = TraceDirectory::new(dirs::traces_dir()?, dirs::index_dir()?);
    let mut recordings: Vec<Vec<PathBuf>> = Vec::new();
    for selector in &args.traces {
        let path = selector.resolve()?;
        refuse_to_overwrite(&path, Some(&args.out))?;
        let head = trace_file::head(&path)?;
        match recordings.last_mut() {
            Some(files) if files.last().is_some_and(|before| trace_file::goes_on(&head, before)) => {
                files.push(path);
            }
            _ => recordings.push(vec![path]),
        }
    }
    let report_trace =
        |files: Vec<PathBuf>| Some(ReportTrace { state: directory.state(files.last()?), files });
    let traces: Vec<ReportTrace> = recordings.into_iter().filter_map(report_trace).collect();
    // The report takes a shared closure, but redaction remembers secrets from line to line.
    let redaction = RefCell::new(TraceRedaction::new(&redactor));
    let redact = |line: &[u8]| redaction.borrow_mut().line(line).into_owned();
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let written = write(&ReportOptions { traces: &traces, redact: &redact, now_ms }, &args.out)?;
    report_written(&args.out, written);
    Ok(())
}

fn write(options: &ReportOptions<'_>, out: &Path) -> Result<Written, CommandError> {
    if out == Path::new("-") {
        let mut out = BufWriter::new(output::machine_stdout());
        let written = report::write(options, &mut out).map_err(refused)?;
        out.flush()?;
        return Ok(written);
    }
    let failed = |error| CommandError::because(format!("can't write {}", out.display()), error);
    let mut draft = BufWriter::new(Draft::beside(out).map_err(failed)?);
    let written = report::write(options, &mut draft).map_err(refused)?;
    let draft = draft.into_inner().map_err(|error| failed(error.into_error()))?;
    draft.publish().map_err(failed)?;
    Ok(written)
}

fn refused(error: ReportError) -> CommandError {
    let hint = match &error {
        ReportError::TooLarge(_) => Some("share the trace file instead; `wiretape view` opens it"),
        ReportError::NoPage => {
            Some("build wiretape with Node.js 20 or newer installed, without --no-default-features")
        }
        _ => None,
    };
    let error = CommandError::failure(error);
    hint.into_iter().fold(error, CommandError::hint)
}

fn report_written(out: &Path, written: Written) {
    let secrets = match written.redacted {
        0 => "no further secrets found".to_owned(),
        lines => format!("secrets redacted in {}", units::count(lines, "line")),
    };
    output::note(format!("{} has {}; {secrets}", out.display(), units::count(written.lines, "line")));
}
