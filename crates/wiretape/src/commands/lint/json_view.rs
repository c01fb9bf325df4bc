//! Findings as one JSON document (docs/json-output.md).

use super::outcome::{LintedTrace, Totals, totals};
use serde::Serialize;
use std::collections::BTreeMap;
use wiretape_analyze::lint::Diagnostic;
use wiretape_analyze::lint::select::{Level, Selection};

/// The document of `lint --format json`.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'a> {
    traces: Vec<TraceView<'a>>,
    totals: TotalsView,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceView<'a> {
    path: String,
    diagnostics: Vec<DiagnosticView<'a>>,
    /// The number of findings by rule name.
    left_out: BTreeMap<&'static str, u64>,
    totals: TotalsView,
}

#[derive(Debug, Serialize)]
struct TotalsView {
    error: u64,
    warning: u64,
    info: u64,
    denied: u64,
}

impl From<Totals> for TotalsView {
    fn from(totals: Totals) -> Self {
        TotalsView {
            error: totals.errors,
            warning: totals.warnings,
            info: totals.infos,
            denied: totals.denied,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DiagnosticView<'a> {
    code: &'static str,
    rule: &'static str,
    family: &'static str,
    severity: &'static str,
    denied: bool,
    message: &'a str,
    help: &'static str,
    line: u64,
    seq: Option<u64>,
    pointer: &'a str,
    span: Option<[usize; 2]>,
    excerpt: Option<ExcerptView<'a>>,
    related: Option<RelatedView>,
    url: &'static str,
}

#[derive(Debug, Serialize)]
struct ExcerptView<'a> {
    text: &'a str,
    mark: [usize; 2],
}

#[derive(Debug, Serialize)]
struct RelatedView {
    line: u64,
    what: &'static str,
}

pub(crate) fn document<'a>(traces: &'a [LintedTrace], selection: &Selection) -> Document<'a> {
    let view = |trace: &'a LintedTrace| TraceView {
        path: trace.path.display().to_string(),
        diagnostics: trace
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic_view(diagnostic, selection))
            .collect(),
        left_out: trace.left_out.iter().map(|(rule, count)| (rule.name, *count)).collect(),
        totals: trace.totals.into(),
    };
    Document { traces: traces.iter().map(view).collect(), totals: totals(traces).into() }
}

fn diagnostic_view<'a>(diagnostic: &'a Diagnostic, selection: &Selection) -> DiagnosticView<'a> {
    let rule = diagnostic.rule;
    DiagnosticView {
        code: rule.code,
        rule: rule.name,
        family: rule.family.name(),
        severity: rule.severity.name(),
        denied: selection.level(rule) == Level::Deny,
        message: &diagnostic.message,
        help: rule.fix,
        line: diagnostic.line,
        seq: diagnostic.seq,
        pointer: &diagnostic.pointer,
        span: diagnostic.span.as_ref().map(|span| [span.start, span.end]),
        excerpt: diagnostic
            .excerpt
            .as_ref()
            .map(|excerpt| ExcerptView { text: &excerpt.text, mark: [excerpt.mark.start, excerpt.mark.end] }),
        related: diagnostic
            .related
            .as_ref()
            .map(|related| RelatedView { line: related.line, what: related.what }),
        url: rule.section.url,
    }
}
