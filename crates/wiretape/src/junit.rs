//! Reports as JUnit XML, which CI systems read. Each command decides what its suites and cases are.

use std::io::{self, Write};

/// The cases of one trace.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The trace; also the class name of each case.
    pub(crate) name: String,
    pub(crate) cases: Vec<Case>,
}

#[derive(Debug)]
pub(crate) struct Case {
    /// Unique in its suite: programs that read the report merge cases of the same name.
    pub(crate) name: String,
    /// The duration in microseconds. Without one, the attribute `time` is left out: 0 would read as a measurement.
    pub(crate) took_us: Option<u64>,
    pub(crate) outcome: CaseOutcome,
}

/// The result of a case.
#[derive(Debug)]
pub(crate) enum CaseOutcome {
    Passed,
    /// Passed, with a remark.
    PassedWith(String),
    /// Skipped, with the reason.
    Skipped(String),
    Failed(Failure),
}

/// Why a case failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The kind of failure, as a short name.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The details; may be empty.
    pub(crate) body: String,
}

impl Case {
    /// A case with a result and no duration.
    pub(crate) fn new(name: impl Into<String>, outcome: CaseOutcome) -> Self {
        Case { name: name.into(), took_us: None, outcome }
    }

    fn is_failed(&self) -> bool {
        matches!(self.outcome, CaseOutcome::Failed(_))
    }

    fn is_skipped(&self) -> bool {
        matches!(self.outcome, CaseOutcome::Skipped(_))
    }
}

/// Writes the document for a command.
pub(crate) fn write(out: &mut impl Write, command: &str, suites: &[Suite]) -> io::Result<()> {
    let count = |is: fn(&Case) -> bool| -> usize {
        suites.iter().map(|suite| suite.cases.iter().filter(|case| is(case)).count()).sum()
    };
    let (tests, failures) = (count(|_| true), count(Case::is_failed));
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"<testsuites name="{}" tests="{tests}" failures="{failures}" errors="0">"#,
        escape(command)
    )?;
    for suite in suites {
        write_suite(out, suite)?;
    }
    writeln!(out, "</testsuites>")
}

fn write_suite(out: &mut impl Write, suite: &Suite) -> io::Result<()> {
    let name = escape(&suite.name);
    let count = |is: fn(&Case) -> bool| suite.cases.iter().filter(|case| is(case)).count();
    let (tests, failures, skipped) = (suite.cases.len(), count(Case::is_failed), count(Case::is_skipped));
    writeln!(
        out,
        r#"  <testsuite name="{name}" tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}">"#
    )?;
    for case in &suite.cases {
        write_case(out, case, &name)?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_case(out: &mut impl Write, case: &Case, class: &str) -> io::Result<()> {
    write!(out, r#"    <testcase name="{}" classname="{class}""#, escape(&case.name))?;
    if let Some(us) = case.took_us {
        write!(out, r#" time="{:.6}""#, us as f64 / 1e6)?;
    }
    match &case.outcome {
        CaseOutcome::Passed => return writeln!(out, "/>"),
        CaseOutcome::PassedWith(text) => write!(out, ">\n      <system-out>{}</system-out>", escape(text))?,
        CaseOutcome::Skipped(why) => write!(out, ">\n      <skipped message=\"{}\"/>", escape(why))?,
        CaseOutcome::Failed(failure) => write_failure(out, failure)?,
    }
    writeln!(out, "\n    </testcase>")
}

fn write_failure(out: &mut impl Write, failure: &Failure) -> io::Result<()> {
    let (kind, message) = (escape(&failure.kind), escape(&failure.message));
    write!(out, ">\n      <failure type=\"{kind}\" message=\"{message}\"")?;
    if failure.body.is_empty() {
        return write!(out, "/>");
    }
    write!(out, ">{}</failure>", escape(&failure.body))
}

/// Text escaped for XML 1.0; characters that XML can't represent are replaced.
fn escape(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => clean.push_str("&amp;"),
            '<' => clean.push_str("&lt;"),
            '>' => clean.push_str("&gt;"),
            '"' => clean.push_str("&quot;"),
            '\'' => clean.push_str("&apos;"),
            // Text is written into attributes too, where a parser normalizes both to a space: acceptable in a
            // message.
            '\n' | '\t' => clean.push(c),
            // XML 1.0, section 2.2: control characters are not allowed, not even as character references.
            '\0'..='\x1f' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                clean.push(char::REPLACEMENT_CHARACTER);
            }
            _ => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_and_written_by_their_outcome() {
        let failure = Failure { kind: "k".into(), message: "m".into(), body: String::new() };
        let cases = vec![
            Case::new("a", CaseOutcome::Passed),
            Case { took_us: Some(1500), ..Case::new("b", CaseOutcome::PassedWith("note".into())) },
            Case::new("c", CaseOutcome::Skipped("why".into())),
            Case::new("d", CaseOutcome::Failed(Failure { body: "b<".into(), ..failure })),
        ];
        let mut written = Vec::new();
        write(&mut written, "wiretape x", &[Suite { name: "t".into(), cases }]).unwrap();
        insta::assert_snapshot!(String::from_utf8(written).unwrap(), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="wiretape x" tests="4" failures="1" errors="0">
          <testsuite name="t" tests="4" failures="1" errors="0" skipped="1">
            <testcase name="a" classname="t"/>
            <testcase name="b" classname="t" time="0.001500">
              <system-out>note</system-out>
            </testcase>
            <testcase name="c" classname="t">
              <skipped message="why"/>
            </testcase>
            <testcase name="d" classname="t">
              <failure type="k" message="m">b&lt;</failure>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn everything_can_stand_in_xml() {
        assert_eq!(escape("<a b=\"c\">&'\u{1b}[0m\n"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;\u{fffd}[0m\n");
    }
}
