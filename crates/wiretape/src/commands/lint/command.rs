//! The arguments of `lint`, and its dispatch.

use super::outcome::{self, LintedTrace};
use super::{explain, json_view, junit, sarif, text_view};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::{self, Output};
use crate::selector::TraceSelector;
use crate::trace_file::{self, TraceFileError};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wiretape_analyze::definitions::Collector;
use wiretape_analyze::drift::Baseline;
use wiretape_analyze::lint::drift;
use wiretape_analyze::lint::select::{RuleSelector, Selection};
use wiretape_analyze::lint::{Diagnostic, Findings, LintOptions, Linter, Revision};
use wiretape_analyze::reading::{Reading, RecordingState};

/// Check traces against the MCP specification
///
/// Checks each message against the revision of the specification that its session negotiated or that the message names. A
/// finding shows the line of the trace, the place in it, and how to fix it.
#[derive(Debug, Args)]
#[command(after_help = "\
RULE is a code (M003), a name (id-null), a family (messages, or M), a severity (warnings) or `all`.
The most specific RULE wins.

Examples:
  wiretape lint latest
  wiretape lint trace.jsonl --deny warnings --allow tool-name-form
  wiretape lint traces/*.jsonl --format sarif > lint.sarif
  wiretape lint latest --baseline tools.json --deny definition-added
  wiretape lint --explain id-null
  wiretape lint --rules

Exit codes: 0 no denied findings, 1 denied findings, 2 usage error, or a trace can't be read.
Errors are denied by default.")]
pub(crate) struct LintArgs {
    /// Traces: paths, id prefixes, or `latest`
    #[arg(value_name = "TRACE", required_unless_present_any = ["explain", "rules"])]
    traces: Vec<TraceSelector>,

    /// Check against this revision, regardless of the negotiated one
    #[arg(long, value_name = "REVISION", value_parser = parse_revision)]
    revision: Option<Revision>,

    /// Output format: text, json, sarif (for code scanning) or junit (for CI)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, hide_possible_values = true)]
    format: Format,

    /// Also fail on findings of RULE
    #[arg(long, value_name = "RULE", value_parser = parse_rule)]
    deny: Vec<RuleSelector>,

    /// Ignore findings of RULE
    #[arg(long, value_name = "RULE", value_parser = parse_rule)]
    allow: Vec<RuleSelector>,

    /// Also report changes of the tools, prompts, resources and capabilities pinned in this baseline
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Show all findings, not only the first 20 of each rule
    #[arg(long)]
    all: bool,

    /// Explain a rule: what it checks, why, and how to fix findings
    #[arg(long, value_name = "RULE", value_parser = parse_rule, conflicts_with_all = ["traces", "rules"])]
    explain: Option<RuleSelector>,

    /// List all rules
    #[arg(long, conflicts_with = "traces")]
    rules: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs; see `docs/json-output.md`.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for CI.
    Junit,
}

/// How many findings per rule and trace are shown.
const SHOWN: u64 = 20;

fn parse_revision(name: &str) -> Result<Revision, String> {
    Revision::parse(name).ok_or_else(|| {
        let names = Revision::ALL.map(Revision::name);
        format!("unknown revision; expected one of {}", names.join(", "))
    })
}

fn parse_rule(word: &str) -> Result<RuleSelector, String> {
    RuleSelector::parse(word).ok_or_else(|| {
        "unknown rule, family or severity; run `wiretape lint --rules` to list the rules".to_owned()
    })
}

pub(crate) fn run(args: &LintArgs) -> Result<ExitCode, CommandError> {
    if args.rules {
        explain::list(&mut Output::stdout())?;
        return Ok(ExitCode::OK);
    }
    if let Some(selector) = args.explain {
        explain::explain(&mut Output::stdout(), selector)?;
        return Ok(ExitCode::OK);
    }
    let selection = Selection { deny: args.deny.clone(), allow: args.allow.clone() };
    let options = LintOptions {
        revision: args.revision,
        rules: selection.rules(),
        limit: if args.all { None } else { Some(SHOWN) },
    };
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let mut traces = Vec::new();
    for selector in &args.traces {
        let path = selector.resolve()?;
        // A file that is not a trace is an error, not a list of findings.
        trace_file::head(&path)?;
        let findings = lint(&path, &options, baseline.as_ref())?;
        traces.push(LintedTrace::new(path, findings, &selection));
    }
    write_report(args.format, &traces, &selection)?;
    let denied = outcome::totals(&traces).denied;
    Ok(if denied > 0 { ExitCode::FOUND } else { ExitCode::OK })
}

fn read_baseline(path: &Path) -> Result<Baseline, CommandError> {
    let failed = |error| CommandError::because(format!("can't read {}", path.display()), error);
    let file = std::fs::read(path).map_err(failed)?;
    Baseline::parse(&file).map_err(|error| {
        CommandError::because(format!("{} is not a baseline file", path.display()), error)
            .hint("run `wiretape baseline TRACE -o FILE` to create one")
    })
}

fn lint(path: &Path, options: &LintOptions, baseline: Option<&Baseline>) -> Result<Findings, CommandError> {
    let mut linter = Linter::new(options.clone());
    let mut definitions = Reading::new(Collector::new());
    let mut reader = trace_file::open_with_progress(path)?;
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        linter.observe(&line);
        // A second interpretation of each line, so only if it is needed.
        if baseline.is_some() {
            definitions.observe(&line);
        }
    }
    trace_file::report_damage(path, &reader);
    let mut findings = linter.finish();
    if let Some(baseline) = baseline {
        let wanted = |diagnostic: &Diagnostic| options.rules.contains(&diagnostic.rule);
        let drift = drift::findings(baseline, &definitions.finish(RecordingState::Over).finish());
        drift.into_iter().filter(wanted).for_each(|diagnostic| findings.push(diagnostic));
    }
    show_places(path, &mut findings)?;
    Ok(findings)
}

/// Locates findings that were only known at the end of the trace, in a second pass.
fn show_places(path: &Path, findings: &mut Findings) -> Result<(), CommandError> {
    let mut unlocated: Vec<&mut Diagnostic> =
        findings.diagnostics.iter_mut().filter(|diagnostic| diagnostic.excerpt.is_none()).collect();
    // Descending, so that `pop` takes them in the order of the file.
    unlocated.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.line));
    let failed = |source| TraceFileError::Read { path: PathBuf::from(path), source };
    let mut reader = trace_file::open(path)?;
    while !unlocated.is_empty() {
        let Some(line) = reader.next_line().map_err(failed)? else { break };
        while let Some(diagnostic) = unlocated.pop_if(|diagnostic| diagnostic.line <= line.number) {
            diagnostic.show_in(line.bytes);
        }
    }
    Ok(())
}

fn write_report(format: Format, traces: &[LintedTrace], selection: &Selection) -> io::Result<()> {
    match format {
        Format::Text => text_view::write(&mut Output::stdout(), traces, selection),
        Format::Json => output::print_json(&json_view::document(traces, selection)),
        Format::Sarif => output::print_json(&sarif::document(traces)),
        Format::Junit => {
            let mut out = output::machine_stdout();
            junit::write(&mut out, traces, selection)?;
            out.flush()
        }
    }
}
