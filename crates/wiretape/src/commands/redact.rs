//! `wiretape redact`: applies the current redaction rules to traces that were recorded before, or shows what they would change.

use crate::config::{Config, ListedRule};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::{self, Output};
use crate::redaction::{self, TraceRedaction};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::{trace_file, units};
use clap::Args;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use wiretape_library::recording::Recording;
use wiretape_library::{Draft, Head, Liveness, liveness};
use wiretape_trace::format::CopyChain;
use wiretape_trace::redact::{Redactor, markers};

/// Redact traces again with the current rules
///
/// Traces are redacted when they are recorded. Use this command for traces that were recorded with fewer
/// rules, with `--no-redact`, or by another program, and before you share a trace. It reports how many values
/// each rule redacted. A redacted trace has check values of its own for `wiretape integrity`; if the original was
/// modified, it is reported as modified, too.
#[derive(Debug, Args)]
#[command(override_usage = "\
wiretape redact [OPTIONS] TRACE... (--check | --explain | --in-place | -o DIR)
       wiretape redact [OPTIONS] (--try TEXT | --rules)")]
#[command(after_help = "\
Examples:
  wiretape redact latest --check              report only; exit code 1 if anything would be redacted
  wiretape redact latest --explain            show where and why, with values hidden
  wiretape redact *.jsonl -o clean/           write redacted copies
  wiretape redact old.jsonl --in-place        replace the file
  wiretape redact --try 'password=hunter2'    try the rules on a text
  wiretape redact --rules                     list the rules")]
pub(crate) struct RedactArgs {
    /// Traces: paths, id prefixes, or `latest`
    #[arg(value_name = "TRACE", required_unless_present_any = ["try_text", "rules"])]
    traces: Vec<TraceSelector>,

    #[command(flatten)]
    action: ActionArgs,

    /// Print one JSON object per trace (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    /// Read this configuration file instead of the default one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ActionArgs {
    /// Report what would be redacted and change nothing; exit code 1 if there is anything
    #[arg(long)]
    check: bool,

    /// Show each place that would be redacted, with its rule and the value hidden
    #[arg(long)]
    explain: bool,

    /// Replace the files
    #[arg(long)]
    in_place: bool,

    /// Write redacted copies to DIR
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print TEXT as it would be recorded
    #[arg(long = "try", value_name = "TEXT", allow_hyphen_values = true)]
    try_text: Option<String>,

    /// List all rules, including custom and disabled ones
    #[arg(long)]
    rules: bool,
}

pub(crate) fn run(args: &RedactArgs) -> Result<ExitCode, CommandError> {
    let config = Config::load(args.config.as_deref())?.redact;
    if args.action.rules {
        return list_rules(&config.list_rules(), args.json);
    }
    let redactor = redaction::redactor(config, &[])?;
    if let Some(text) = &args.action.try_text {
        let mut out = Output::stdout();
        writeln!(out, "{}", printable(&String::from_utf8_lossy(&redactor.text(text.as_bytes()))))?;
        out.flush()?;
        return Ok(ExitCode::OK);
    }
    let paths = args.traces.iter().map(TraceSelector::resolve).collect::<Result<Vec<_>, _>>()?;
    let mut reports = Vec::new();
    let recordings = recordings(paths);
    if let Some(dir) = &args.action.out {
        let inputs: Vec<&Path> =
            recordings.iter().flat_map(|recording| &recording.parts).map(|part| &*part.path).collect();
        refuse_conflicts(&inputs, dir)?;
    }
    for recording in recordings {
        let mut copy = RedactedCopy::new(&redactor);
        for part in &recording.parts {
            reports.push(redact_trace(&part.path, &mut copy, &args.action)?);
        }
    }
    if args.json {
        output::print_json_lines(&reports)?;
    } else {
        print(&reports)?;
    }
    let found = reports.iter().any(|report| report.values > 0);
    Ok(if args.action.check && found { ExitCode::FOUND } else { ExitCode::OK })
}

fn list_rules(rules: &[ListedRule], json: bool) -> Result<ExitCode, CommandError> {
    if json {
        output::print_json_lines(rules)?;
        return Ok(ExitCode::OK);
    }
    let mut out = Output::stdout();
    let longest = rules.iter().map(|rule| rule.rule.len()).max().unwrap_or(0);
    for rule in rules {
        let note = match rule {
            ListedRule { custom: true, .. } => "(custom) ",
            ListedRule { disabled: true, .. } => "(disabled) ",
            _ => "",
        };
        writeln!(out, "{:longest$}  {note}{}", rule.rule, printable(&rule.redacts))?;
    }
    out.flush()?;
    Ok(ExitCode::OK)
}

/// The report on one trace; also the object of `--json`.
#[derive(Debug, Serialize)]
struct TraceReport {
    path: PathBuf,
    /// Where the redacted trace was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<PathBuf>,
    lines: u64,
    /// How many values were redacted, or would be.
    values: u64,
    /// The same by rule.
    rules: BTreeMap<String, u64>,
    /// Each redacted place, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<Vec<RedactedPlace>>,
}

/// A place in a trace where something was redacted.
#[derive(Debug, Serialize)]
struct RedactedPlace {
    /// Counts the lines of the file from 1.
    line: u64,
    rule: String,
    /// The text around it, redacted.
    excerpt: String,
}

/// The parts of a recording belong together: each names the digest of the one before it, and may repeat its secrets.
fn recordings(paths: Vec<PathBuf>) -> Vec<Recording> {
    let mut seen = BTreeSet::new();
    let with_head = |path: PathBuf| {
        // Not of a pipe, of which the lines that were read to look at them would be lost. A file that is not a trace is
        // redacted as text.
        let head = if path.is_file() { trace_file::head(&path).unwrap_or_default() } else { Head::default() };
        (path, head)
    };
    // The same file may have been named twice.
    Recording::of_traces(paths.into_iter().filter(|path| seen.insert(path.clone())).map(with_head).collect())
}

/// The redacted copy of a recording.
struct RedactedCopy<'r> {
    redaction: TraceRedaction<'r>,
    chain: CopyChain,
}

impl<'r> RedactedCopy<'r> {
    fn new(redactor: &'r Redactor) -> Self {
        RedactedCopy { redaction: TraceRedaction::new(redactor), chain: CopyChain::default() }
    }

    /// Writes the lines of a file.
    fn write(
        &mut self,
        path: &Path,
        report: &mut TraceReport,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let mut reader = trace_file::open(path)?;
        let mut copied = Vec::new();
        while let Some(line) = trace_file::next_line(&mut reader, path)? {
            let clean = self.redaction.line(line.bytes);
            report.lines += 1;
            report.add(line.number, line.bytes, &clean);
            copied.clear();
            self.chain.push_line(&mut copied, line.bytes, &clean);
            out.write_all(&copied)?;
        }
        out.flush()?;
        trace_file::report_damage(path, &reader);
        Ok(())
    }
}

fn redact_trace(
    path: &Path,
    copy: &mut RedactedCopy<'_>,
    action: &ActionArgs,
) -> Result<TraceReport, CommandError> {
    let target = target(path, action)?;
    let mut report = TraceReport {
        path: path.to_owned(),
        written: None,
        lines: 0,
        values: 0,
        rules: BTreeMap::new(),
        places: action.explain.then(Vec::new),
    };
    let Some(target) = target else {
        copy.write(path, &mut report, &mut io::sink())?;
        return Ok(report);
    };
    let failed = |error| CommandError::because(format!("can't write {}", target.display()), error);
    let mut draft = BufWriter::new(Draft::beside(&target).map_err(failed)?);
    copy.write(path, &mut report, &mut draft)?;
    let draft = draft.into_inner().map_err(|error| failed(error.into_error()))?;
    draft.publish().map_err(failed)?;
    report.written = Some(target);
    Ok(report)
}

/// Rejects copies that would replace a trace or each other, before any is written.
fn refuse_conflicts(inputs: &[&Path], dir: &Path) -> Result<(), CommandError> {
    // Each path is resolved once: comparing each copy with each input resolves 200 million paths for 10,000 traces.
    let mut sources: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for input in inputs {
        // An input that can't be resolved, such as a pipe, can't be replaced by a copy.
        if let Ok(source) = input.canonicalize() {
            sources.entry(source).or_insert(input);
        }
    }
    let mut targets: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for input in inputs {
        let target = dir.join(copy_name(input));
        if let Some(trace) = target.canonicalize().ok().and_then(|target| sources.get(&target)) {
            return Err(CommandError::usage(format!("the copy would replace {}", trace.display()))
                .hint("choose another directory with -o, or use --in-place"));
        }
        if liveness(&target) == Liveness::Running {
            return Err(CommandError::failure(format!("{} is still being recorded", target.display()))
                .hint("choose another directory with -o"));
        }
        if let Some(other) = targets.insert(target.clone(), input) {
            return Err(CommandError::usage(format!(
                "{} and {} would both be written to {}",
                other.display(),
                input.display(),
                target.display()
            ))
            .hint("redact them one at a time, with a directory for each"));
        }
    }
    Ok(())
}

/// The file name of a copy. The copy is not compressed, so its name must not say so.
fn copy_name(path: &Path) -> &OsStr {
    let name = path.file_name().unwrap_or_default();
    let stem = if is_compressed(path) { Path::new(name).file_stem() } else { None };
    stem.unwrap_or(name)
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz" || extension == "zst")
}

/// Where the redacted trace goes; `None` if it is only looked at.
fn target(path: &Path, action: &ActionArgs) -> Result<Option<PathBuf>, CommandError> {
    if let Some(dir) = &action.out {
        std::fs::create_dir_all(dir)
            .map_err(|error| CommandError::because(format!("can't create {}", dir.display()), error))?;
        return Ok(Some(dir.join(copy_name(path))));
    }
    if !action.in_place {
        return Ok(None);
    }
    if is_compressed(path) {
        return Err(CommandError::usage(format!("{} is compressed and can't be replaced", path.display()))
            .hint("use -o DIR to write an uncompressed copy"));
    }
    // The recorder has the file open and would keep writing to the replaced one.
    if liveness(path) == Liveness::Running {
        return Err(CommandError::failure(format!("{} is still being recorded", path.display()))
            .hint("wait until the recording ends, or use -o DIR"));
    }
    Ok(Some(path.to_owned()))
}

impl TraceReport {
    /// Counts the markers that a line has now and did not have before.
    fn add(&mut self, line: u64, before: &[u8], clean: &[u8]) {
        if before == clean {
            return;
        }
        // By comparison of markers: the redactor doesn't report what it replaced.
        let mut known: Vec<&[u8]> = markers(before).into_iter().map(|place| &before[place]).collect();
        for place in markers(clean) {
            let marker = &clean[place.clone()];
            if let Some(at) = known.iter().position(|known| *known == marker) {
                known.swap_remove(at);
                continue;
            }
            let rule = rule_of(marker);
            self.values += 1;
            *self.rules.entry(rule.clone()).or_default() += 1;
            if let Some(places) = &mut self.places {
                places.push(RedactedPlace { line, rule, excerpt: excerpt(clean, place) });
            }
        }
    }
}

/// The rule in `[REDACTED:rule:digits]`.
fn rule_of(marker: &[u8]) -> String {
    let marker = String::from_utf8_lossy(marker);
    marker.split(':').nth(1).unwrap_or_default().to_owned()
}

/// The text around a marker. It is cut at characters, and other markers in it stay whole or are dropped with their values.
fn excerpt(clean: &[u8], place: std::ops::Range<usize>) -> String {
    /// Bytes before and after.
    const AROUND: usize = 32;
    let text = String::from_utf8_lossy(
        &clean[place.start.saturating_sub(AROUND)..clean.len().min(place.end + AROUND)],
    );
    printable(text.trim_matches('\u{fffd}')).into_owned()
}

fn print(reports: &[TraceReport]) -> io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    for report in reports {
        let path = report.path.display().to_string();
        let values = match report.values {
            0 => styles.good.paint("nothing to redact".to_owned()),
            values => styles.warning.paint(units::count(values, "value")),
        };
        write!(out, "{}: {values} in {}", printable(&path), units::count(report.lines, "line"))?;
        match &report.written {
            Some(written) => writeln!(out, "; wrote {}", printable(&written.display().to_string()))?,
            None => writeln!(out)?,
        }
        for (rule, count) in &report.rules {
            writeln!(out, "  {count:>6}  {rule}")?;
        }
        for place in report.places.iter().flatten() {
            writeln!(out, "  line {}: {}: {}", place.line, place.rule, place.excerpt)?;
        }
    }
    out.flush()
}
