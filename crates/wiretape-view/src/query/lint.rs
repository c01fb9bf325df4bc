//! The linter's findings, by rule and by line.

use super::Set;
use crate::api::types::{Finding, LintReport, Progress, RuleFindings};
use crate::trace::OpenTrace;
use std::collections::BTreeMap;
use std::sync::Arc;
use wiretape_analyze::lint::{Diagnostic, Rule, Severity};

/// The findings of a set, by rule.
pub(crate) fn lint(set: &Set) -> LintReport {
    let mut report = LintReport {
        progress: Progress { is_complete: true, ..Progress::default() },
        rules: Vec::new(),
        errors: 0,
        warnings: 0,
        infos: 0,
    };
    let mut rules: BTreeMap<(std::cmp::Reverse<Severity>, &'static str), RuleFindings> = BTreeMap::new();
    for (at, trace) in (0..).zip(&set.traces) {
        let (progress, findings) = trace.findings();
        report.progress.done += progress.done;
        report.progress.total += progress.total;
        report.progress.is_complete &= progress.is_complete;
        let Some(findings) = findings else { continue };
        for diagnostic in &findings.diagnostics {
            let rule = diagnostic.rule;
            let place = rules.entry((std::cmp::Reverse(rule.severity), rule.code));
            let place = place.or_insert_with(|| rule_findings(rule));
            place.findings.push(finding(trace, at, diagnostic));
        }
        // Counted separately, because findings are limited for each rule and counts are not.
        for (code, count) in &findings.counts {
            let of_code = rules.iter_mut().find(|((_, other), _)| other == code);
            let Some(((severity, _), rule)) = of_code else { continue };
            rule.count += count;
            match severity.0 {
                Severity::Error => report.errors += count,
                Severity::Warning => report.warnings += count,
                Severity::Info => report.infos += count,
            }
        }
    }
    report.rules = rules.into_values().collect();
    report
}

/// The findings on some lines of a trace, if it was checked.
pub(crate) fn on_lines(trace: &Arc<OpenTrace>, at: u32, is_meant: impl Fn(u64) -> bool) -> Vec<Finding> {
    let (_, Some(findings)) = trace.findings() else { return Vec::new() };
    let meant = findings.diagnostics.iter().filter(|diagnostic| is_meant(diagnostic.line));
    meant.map(|diagnostic| finding(trace, at, diagnostic)).collect()
}

fn rule_findings(rule: &Rule) -> RuleFindings {
    RuleFindings {
        code: rule.code.to_owned(),
        name: rule.name.to_owned(),
        family: rule.family.name().to_owned(),
        severity: rule.severity.name().to_owned(),
        what: rule.what.to_owned(),
        why: rule.why.to_owned(),
        fix: rule.fix.to_owned(),
        section: rule.section.title.to_owned(),
        url: rule.section.url.to_owned(),
        count: 0,
        findings: Vec::new(),
    }
}

fn finding(trace: &OpenTrace, at: u32, diagnostic: &Diagnostic) -> Finding {
    let call = trace.index().line(diagnostic.line).map(|line| u64::from(line.call)).filter(|call| *call > 0);
    let (before, marked, after) = excerpt(diagnostic);
    Finding {
        trace: at,
        code: diagnostic.rule.code.to_owned(),
        rule: diagnostic.rule.name.to_owned(),
        severity: diagnostic.rule.severity.name().to_owned(),
        line: diagnostic.line,
        call,
        pointer: diagnostic.pointer.clone(),
        message: diagnostic.message.clone(),
        fix: diagnostic.rule.fix.to_owned(),
        before,
        marked,
        after,
    }
}

fn excerpt(diagnostic: &Diagnostic) -> (String, String, String) {
    let Some(excerpt) = &diagnostic.excerpt else { return Default::default() };
    let (text, mark) = (&excerpt.text, &excerpt.mark);
    let before = if excerpt.cut_before { "…" } else { "" };
    let after = if excerpt.cut_after { "…" } else { "" };
    (
        format!("{before}{}", &text[..mark.start]),
        text[mark.clone()].to_owned(),
        format!("{}{after}", &text[mark.end..]),
    )
}
