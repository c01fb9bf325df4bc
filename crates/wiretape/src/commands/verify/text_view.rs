//! Output for people: changed calls as they are found, and a summary.

use super::report::{self, VerifyReport};
use crate::difference_view::{DifferenceView, arguments};
use crate::error::CommandError;
use crate::output::{Output, Paint};
use crate::text::printable;
use crate::units;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;
use wiretape_analyze::replay::{Payloads as _, Recorded};
use wiretape_analyze::verify::{Checked, Plan, Script, Skip, Verdict, without_secrets};
use wiretape_proxy::replay::TapeFile;
use wiretape_proxy::verify::{RecordedClient, Target};
use wiretape_trace::redact::Redactor;

/// The most differences of one call to show.
const MAX_SHOWN: usize = 20;

/// Lists the calls that would be made.
pub(super) fn print_plan(
    name: &str,
    client: &RecordedClient,
    redactor: &Redactor,
) -> Result<(), CommandError> {
    let mut draw = DifferenceView::new(Output::stdout());
    let styles = draw.styles;
    let calls = client.script.entries().count() as u64;
    let made = client.script.entries().filter(|(_, plan)| *plan == Plan::Send).count();
    let head = format!("{}: {made} of {} to make", printable(name), units::count(calls, "call"));
    draw.whole_line(styles.strong, &head)?;
    for (call, plan) in client.script.entries() {
        let line = format!("{:>6}  ", call.line);
        let call_name = printable(&client.script.tape().kind(call).to_string()).into_owned();
        match plan {
            Plan::Send => {
                let request_arguments = format!("  {}", request_arguments(&client.file, call, redactor));
                draw.line(&[
                    (styles.dim, &line),
                    (styles.name, &call_name),
                    (styles.plain, &request_arguments),
                ])?;
            }
            Plan::Skip(skip) => {
                let reason = format!("  skipped: {skip}");
                draw.line(&[(styles.dim, &line), (styles.dim, &call_name), (styles.warning, &reason)])?;
            }
        }
    }
    let mut unknown: Vec<&str> = client.script.unknown_tools().collect();
    // A tool that is called often is named once.
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        let note = format!(
            "The trace does not list these tools, so the server's annotations decide whether they are called (or --allow-writes): {}",
            printable(&unknown.join(", "))
        );
        draw.whole_line(styles.hint, &note)?;
    }
    Ok(draw.out.flush()?)
}

/// The arguments of a call, on one line and redacted: a trace for tests may contain secrets that its calls need.
fn request_arguments(file: &TapeFile, call: &Recorded, redactor: &Redactor) -> String {
    let mut request = Vec::new();
    // The line was read when the trace was loaded; if that fails now, the arguments are left out.
    let _ = file.read(call.request, &mut request);
    arguments(&without_secrets(redactor, &request))
}

/// The server, with secrets redacted.
fn server(target: &Target, redactor: &Redactor) -> String {
    match target {
        Target::Command(command) => {
            let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            redactor.command(&words).join(" ")
        }
        Target::Url { url, .. } => redactor.url(&url.to_string()).into_owned(),
    }
}

/// Shows results as they arrive.
pub(super) struct TextView<'v> {
    draw: DifferenceView,
    file: &'v Arc<TapeFile>,
    redactor: &'v Redactor,
    shown_calls: ShownCalls,
    /// The first error while writing. `finish` returns it, because the callback for results can't.
    failed: io::Result<()>,
}

/// Which calls are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownCalls {
    /// None: a program reads the output.
    Nothing,
    Changes,
    All,
}

impl<'v> TextView<'v> {
    pub(super) fn new(
        name: &str,
        target: &Target,
        file: &'v Arc<TapeFile>,
        redactor: &'v Redactor,
        shown_calls: ShownCalls,
    ) -> Self {
        let draw = DifferenceView::new(Output::stdout());
        let mut view = TextView { draw, file, redactor, shown_calls, failed: Ok(()) };
        if shown_calls != ShownCalls::Nothing {
            let server = server(target, redactor);
            let head = format!("{} against {}", printable(name), printable(&server));
            let strong = view.draw.styles.strong;
            // Flushed at once: starting the server may take a while, and the user should see what is tested.
            view.failed = view.draw.whole_line(strong, &head).and_then(|()| view.draw.out.flush());
        }
        view
    }

    /// Shows a call with its verdict.
    pub(super) fn judged(&mut self, script: &Script, checked: &Checked) {
        let is_shown = match self.shown_calls {
            ShownCalls::Nothing => false,
            ShownCalls::Changes => match &checked.verdict {
                // Once the server is gone, every further call is skipped; the summary says how many.
                Verdict::Skipped(Skip::Gone) => false,
                Verdict::Inconclusive { .. } => true,
                verdict => verdict.is_failure(),
            },
            ShownCalls::All => true,
        };
        if is_shown && self.failed.is_ok() {
            // Flushed after each call, because the next response may take seconds.
            self.failed = self.call(script, checked).and_then(|()| self.draw.out.flush());
        }
    }

    fn call(&mut self, script: &Script, checked: &Checked) -> io::Result<()> {
        let styles = self.draw.styles;
        let call = script.tape().call(checked.call);
        let name = printable(&script.tape().kind(call).to_string()).into_owned();
        let (paint, mark) = mark(&checked.verdict, &styles);
        let line = format!("  line {}  ", call.line);
        let request_arguments = request_arguments(self.file, call, self.redactor);
        self.draw.line(&[
            (paint, mark),
            (styles.name, &name),
            (styles.dim, &line),
            (styles.plain, &request_arguments),
        ])?;
        self.verdict(checked)?;
        for change in checked.changes.iter().take(MAX_SHOWN) {
            let place = format!("    {}", printable(&change.place));
            self.draw.line(&[(styles.strong, &place)])?;
            self.draw.values(change.before.as_deref(), change.after.as_deref())?;
        }
        let hidden = checked.changes.len().saturating_sub(MAX_SHOWN) as u64;
        if hidden > 0 || checked.more {
            let more = if checked.more { "more than " } else { "" };
            let note = format!("    … {more}{} more (--json has them)", units::count(hidden, "change"));
            self.draw.line(&[(styles.dim, &note)])?;
        }
        Ok(())
    }

    fn verdict(&mut self, checked: &Checked) -> io::Result<()> {
        let styles = self.draw.styles;
        let took = |us: Option<u64>| us.map(units::duration).unwrap_or_default();
        let text = match &checked.verdict {
            Verdict::Same | Verdict::Changed => return Ok(()),
            Verdict::NewError => match &checked.error {
                Some(error) => format!("new error: {error}"),
                None => "new error".to_owned(),
            },
            Verdict::Inconclusive { skipped_writes } => {
                format!("inconclusive: {}", report::after_skipped_writes(*skipped_writes))
            }
            Verdict::Missing(missing) => missing.to_string(),
            Verdict::Slower => {
                format!("slower: {} recorded, {} now", took(checked.recorded_us), took(checked.took_us))
            }
            Verdict::Skipped(skip) => format!("skipped: {skip}"),
        };
        let (paint, _) = mark(&checked.verdict, &styles);
        self.draw.line(&[(styles.plain, "    "), (paint, &printable(&text))])
    }

    /// Shows the changed definitions, and a summary.
    pub(super) fn finish(mut self, report: &VerifyReport<'_>) -> Result<(), CommandError> {
        self.failed?;
        let drift = &report.verified.drift;
        for change in &drift.changes {
            self.draw.definition(change)?;
        }
        self.draw.partial_lists(drift)?;
        let (strong, dim) = (self.draw.styles.strong, self.draw.styles.dim);
        self.draw.whole_line(strong, &summary(report))?;
        for note in skipped(report) {
            self.draw.whole_line(dim, &note)?;
        }
        Ok(self.draw.out.flush()?)
    }
}

fn mark(verdict: &Verdict, styles: &crate::output::Styles) -> (Paint, &'static str) {
    match verdict {
        Verdict::Same => (styles.good, "= "),
        Verdict::Changed => (styles.warning, "~ "),
        Verdict::Inconclusive { .. } => (styles.dim, "~ "),
        Verdict::NewError => (styles.error, "! "),
        Verdict::Missing(_) => (styles.error, "? "),
        Verdict::Slower => (styles.warning, "> "),
        Verdict::Skipped(_) => (styles.dim, "- "),
    }
}

fn summary(report: &VerifyReport<'_>) -> String {
    let counts = report.verified.counts().into_iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(name, count)| match name {
            "new error" => units::count(count, name),
            _ => format!("{count} {name}"),
        })
        .collect();
    let mut summary = units::count(report.verified.calls.len() as u64, "call");
    if !counts.is_empty() {
        summary.push_str(&format!(": {}", counts.join(", ")));
    }
    let drift = &report.verified.drift;
    if !drift.changes.is_empty() {
        let changes = units::count(drift.changes.len() as u64, "definition change");
        summary.push_str(&format!("; {changes}, {} breaking", drift.breaking()));
    }
    summary
}

/// Why calls were skipped, and which.
fn skipped(report: &VerifyReport<'_>) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for checked in &report.verified.calls {
        if let Verdict::Skipped(skip) = &checked.verdict {
            // Only what the user can do something about gets a hint; what --only left out was the user's own choice.
            let hint = match skip {
                Skip::NotSelected => continue,
                Skip::Writes => " (use --allow-writes to call them)",
                Skip::Redacted => " (record without redaction to call them)",
                _ => "",
            };
            reasons.entry(format!("{skip}{hint}")).or_default().push(report.call(checked));
        }
    }
    let notes = reasons.into_iter().map(|(reason, mut names)| {
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        let names: Vec<_> = names.iter().map(|name| printable(name)).collect();
        format!("  {count} skipped, {reason}: {}", names.join(", "))
    });
    notes.collect()
}
