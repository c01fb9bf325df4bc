//! Results as JUnit XML: a case per call, and a case per changed definition.

use super::report::{VerifyReport, after_skipped_writes};
use crate::junit::{self, Case, CaseOutcome, Failure, Suite};
use std::io::{self, Write};
use wiretape_analyze::drift;
use wiretape_analyze::verify::{Change, Checked, Verdict};

pub(super) fn write(out: &mut impl Write, report: &VerifyReport<'_>) -> io::Result<()> {
    let calls = report.verified.calls.iter().map(|checked| call(report, checked));
    let offers = report.verified.drift.changes.iter().map(|change| offer(report, change));
    let suite = Suite { name: report.name.to_owned(), cases: calls.chain(offers).collect() };
    junit::write(out, "wiretape verify", &[suite])
}

fn call(report: &VerifyReport<'_>, checked: &Checked) -> Case {
    let outcome = match &checked.verdict {
        Verdict::Same => CaseOutcome::Passed,
        Verdict::Skipped(skip) if !checked.verdict.is_failure() => CaseOutcome::Skipped(skip.to_string()),
        Verdict::Inconclusive { skipped_writes } => {
            CaseOutcome::Skipped(after_skipped_writes(*skipped_writes))
        }
        verdict => CaseOutcome::Failed(Failure {
            kind: verdict.name().replace(' ', "-"),
            message: message(verdict, checked),
            body: listed(&checked.changes),
        }),
    };
    let name = format!("{} (line {})", report.call(checked), report.line(checked));
    Case { took_us: checked.took_us, ..Case::new(name, outcome) }
}

fn message(verdict: &Verdict, checked: &Checked) -> String {
    match verdict {
        Verdict::Missing(missing) => missing.to_string(),
        Verdict::Skipped(skip) => skip.to_string(),
        Verdict::Slower => {
            let ms = |us: Option<u64>| us.map_or_else(|| "?".to_owned(), |us| format!("{} ms", us / 1000));
            format!("{} recorded, {} now", ms(checked.recorded_us), ms(checked.took_us))
        }
        _ => {
            let place = checked.changes.first().map(|change| change.place.as_str()).unwrap_or_default();
            format!("{}: {}", verdict.name(), checked.error.as_deref().unwrap_or(place))
        }
    }
}

fn listed(changes: &[Change]) -> String {
    let text = |value: &Option<Vec<u8>>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), |value| String::from_utf8_lossy(value).into_owned())
    };
    let lines = changes
        .iter()
        .map(|change| format!("{}\n- {}\n+ {}\n", change.place, text(&change.before), text(&change.after)));
    lines.collect()
}

fn offer(report: &VerifyReport<'_>, change: &drift::Change) -> Case {
    let outcome = if report.offers.count(change) {
        CaseOutcome::Failed(Failure {
            kind: change.kind.name().to_owned(),
            message: change.sentence.clone(),
            body: change.advice().to_owned(),
        })
    } else {
        CaseOutcome::PassedWith(change.advice().to_owned())
    };
    Case::new(change.sentence.clone(), outcome)
}
