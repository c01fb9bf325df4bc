//! `wiretape export html`: traces and the page that shows them, in one file.

use super::export::refuse_to_overwrite;
use crate::config::Config;
use crate::error::CommandError;
use crate::selector::TraceSelector;
use crate::{dirs, output, redaction, trace_file, units};
use clap::Args;
use std::borrow::Cow;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use wiretape_library::Draft;
use wiretape_library::TraceDirectory;
use wiretape_trace::format::{Meta, Record, parse_line};
use wiretape_trace::redact::Redactor;
use wiretape_view::report::{self, ReportError, ReportOptions, ReportTrace, Written};

/// Put traces and the page that shows them into one file
///
/// The file opens in any browser, without a server and without a network: for bug reports, and for colleagues. Secrets are
/// taken out once more on the way, by the rules of today, and the page says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape export html latest -o report.html
  wiretape export html client.jsonl server.jsonl -o both.html     merged by time")]
pub(crate) struct HtmlArgs {
    /// The traces: each a path, the beginning of an id, or `latest`
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Write to this file; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,

    /// Read this configuration instead of your own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &HtmlArgs) -> Result<(), CommandError> {
    let redactor = redaction::redactor(Config::load(args.config.as_deref())?.redact, &[])?;
    let directory = TraceDirectory::new(dirs::traces_dir()?, dirs::index_dir()?);
    let mut traces = Vec::new();
    for selector in &args.traces {
        let path = selector.resolve()?;
        refuse_to_overwrite(&path, Some(&args.out))?;
        trace_file::head(&path)?;
        traces.push(ReportTrace { state: directory.state(&path), path });
    }
    let redact = |line: &[u8]| redacted(&redactor, line);
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let written = write(&ReportOptions { traces: &traces, redact: &redact, now_ms }, &args.out)?;
    tell(&args.out, written);
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
        ReportError::TooLarge(_) => Some("share the trace itself, or look at it with `wiretape view`"),
        ReportError::NoPage => {
            Some("build wiretape with Node.js 20 or newer installed, without --no-default-features")
        }
        _ => None,
    };
    let error = CommandError::failure(error);
    hint.into_iter().fold(error, CommandError::hint)
}

fn tell(out: &Path, written: Written) {
    let secrets = match written.redacted {
        0 => "no more secrets were found".to_owned(),
        lines => format!("secrets were taken out of {}", units::count(lines, "line")),
    };
    output::note(format!("{} has {}; {secrets}", out.display(), units::count(written.lines, "line")));
}

/// A line without its secrets.
fn redacted(redactor: &Redactor, line: &[u8]) -> Vec<u8> {
    let Ok(clean) = redactor.json(line) else { return redactor.text(line).into_owned() };
    match parse_line(&clean) {
        Record::Meta(meta) => without_secret_words(redactor, *meta).unwrap_or_else(|| clean.to_vec()),
        _ => Cow::into_owned(clean),
    }
}

/// The first line, if there is something secret in its command.
fn without_secret_words(redactor: &Redactor, mut meta: Meta) -> Option<Vec<u8>> {
    let command = redactor.command(&meta.command);
    if command == meta.command {
        return None;
    }
    meta.command = command;
    serde_json::to_vec(&meta).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::redact::{RedactionKey, Rules};

    #[test]
    fn no_part_of_a_line_keeps_its_secrets() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
        for line in [
            r#"{"v":1,"type":"meta","label":"a","command":["srv","--password","hunter2hunter2"]}"#,
            r#"{"dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"login","params":{"password":"hunter2hunter2"}}}"#,
            r#"{"type":"http","http":{"x":1,"request":{"headers":{"authorization":"Bearer hunter2hunter2"}}}}"#,
            r#"{"type":"stderr","text":"Authorization: Bearer hunter2hunter2"}"#,
            r#"{"dir":"in","raw":{"password":"hunter2hunter2""#,
        ] {
            let clean = String::from_utf8(redacted(&redactor, line.as_bytes())).unwrap();
            assert!(!clean.contains("hunter2"), "{clean}");
        }
    }
}
