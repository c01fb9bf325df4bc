//! Linting arbitrary traces.

use wiretape_analyze::lint::{Diagnostic, LintOptions, Linter, rules};
use wiretape_trace::format::TraceReader;

/// A linter accepts anything, is deterministic, and points into the lines that it was given.
pub fn lint(data: &[u8]) {
    let found = run(data);
    assert_eq!(found, run(data), "what is found depends on something else than the trace");
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    for diagnostic in &found {
        let line = usize::try_from(diagnostic.line).ok().and_then(|line| lines.get(line.wrapping_sub(1)));
        let length = line.expect("every finding has the number of a line that was read").len();
        if let Some(span) = &diagnostic.span {
            assert!(span.start <= span.end && span.end <= length, "a place outside its line");
        }
        if let Some(excerpt) = &diagnostic.excerpt {
            assert!(excerpt.text.get(excerpt.mark.clone()).is_some(), "a mark outside its excerpt");
        }
    }
}

fn run(data: &[u8]) -> Vec<Diagnostic> {
    let options = LintOptions { revision: None, rules: rules::ALL.to_vec(), limit: Some(50) };
    let mut linter = Linter::new(options);
    let mut reader = TraceReader::new(data);
    while let Some(line) = reader.next_line().expect("reading from a slice never fails") {
        linter.observe(&line);
    }
    linter.finish().diagnostics
}
