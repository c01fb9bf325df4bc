//! Helpers for the tests of all formats.

use super::super::cut::{Batch, Cutter, Unit};
use super::super::item::{Findings, Item, ItemContent};
use super::super::run::{ImportOptions, SinkDecision, TraceSink, import};
use super::{FORMATS, Format, detect};
use crate::format::Meta;
use crate::message::Direction;
use std::io;

/// Parses `input`, and compares its items and then its flaws. An item is written as its line, its time, its
/// content (`>` and `<` for the sender, `?` if it is unknown, `~` before text, `!` for standard error, `x`
/// for an exchange), its server, its session and its HTTP context without the number.
#[track_caller]
pub(super) fn check(format: &Format, input: &str, expected: &[&str]) {
    let found = said(format, input.as_bytes());
    assert_eq!(found, expected, "found:\n{}", found.join("\n"));
}

/// The items and flaws of a source, as text.
pub(super) fn said(format: &Format, input: &[u8]) -> Vec<String> {
    let mut cutter = Cutter::new(format.shape);
    let (mut items, mut flaws) = (Vec::new(), Vec::new());
    let mut take = |batch: Batch| {
        let mut findings = Findings::default();
        batch.each(|unit| (format.read)(&unit, &mut findings));
        items.extend(findings.items.iter().map(render));
        let all = batch.flaws.iter().chain(&findings.flaws);
        flaws.extend(all.map(|flaw| format!("{} {:?}", flaw.line, flaw.defect)));
    };
    cutter.push(input).into_iter().for_each(&mut take);
    take(cutter.finish());
    items.extend(flaws);
    items
}

/// The items of one unit, each formatted by `tell`, and its flaws.
pub(super) fn told(format: &Format, input: &str, tell: impl Fn(&Item<'_>) -> String) -> Vec<String> {
    let unit = Unit { bytes: input.as_bytes(), line: 1, member: None, entry: None };
    let mut findings = Findings::default();
    (format.read)(&unit, &mut findings);
    let items = findings.items.iter().map(tell);
    items.chain(findings.flaws.iter().map(ToString::to_string)).collect()
}

/// Checks that the beginning of a source is recognized as this format.
#[track_caller]
pub(super) fn check_recognized(format: &Format, beginning: &[u8]) {
    assert_eq!(detect(beginning).map(|format| format.name), Some(format.name));
}

/// Checks that a source becomes one trace with this many messages, and that no sender was guessed.
#[track_caller]
pub(super) fn check_imported(format: &'static Format, source: &[u8], messages: u64) {
    let options = ImportOptions {
        format,
        redactor: None,
        strict: false,
        workers: 1,
        meta: Meta::default(),
        source: "a test".to_owned(),
    };
    let mut lines = Lines::default();
    let report = import(source, &options, &mut lines).unwrap();
    let trace = String::from_utf8(lines.0).unwrap();
    assert_eq!((report.messages, report.guessed, report.traces), (messages, 0, 1), "{trace}");
}

#[derive(Default)]
struct Lines(Vec<u8>);

impl TraceSink for Lines {
    fn begin(&mut self, _: Option<&str>) -> io::Result<SinkDecision> {
        Ok(SinkDecision::Wanted { id: None })
    }

    fn write(&mut self, _: usize, lines: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(lines);
        Ok(())
    }
}

fn render(item: &Item<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let sign = |from: Direction| if from == Direction::ClientToServer { '>' } else { '<' };
    let time = item.at_ms.map(|at| format!("t={at} ")).unwrap_or_default();
    let what = match &item.what {
        ItemContent::Message { from, raw } => format!("{} {}", from.map_or('?', sign), text(raw)),
        ItemContent::Text { from, text: said } => format!("{}~ {}", sign(*from), text(said)),
        ItemContent::Stderr { text: said } => format!("! {}", text(said)),
        ItemContent::Exchange => "x".to_owned(),
        ItemContent::FreshIds => "fresh".to_owned(),
    };
    let server = item.server.as_ref().map(|server| format!(" #{server}")).unwrap_or_default();
    let session = item.session.as_ref().map(|session| format!(" @{session}")).unwrap_or_default();
    let http = item.http.as_ref().map(|http| format!(" {}", without_number(&text(http)))).unwrap_or_default();
    format!("{} {time}{what}{server}{session}{http}", item.line)
}

fn without_number(http: &str) -> String {
    let rest = http.strip_prefix("{\"x\":").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.map_or_else(|| http.to_owned(), |rest| format!("{{{}", rest.trim_start_matches(',')))
}

#[test]
fn no_format_panics_wherever_a_source_ends() {
    let fixtures: [&[u8]; 5] = [
        include_bytes!("../../../../../fixtures/import/inspector.json"),
        include_bytes!("../../../../../fixtures/import/inspector-network.json"),
        include_bytes!("../../../../../fixtures/import/har.har"),
        include_bytes!("../../../../../fixtures/import/vscode.log"),
        include_bytes!("../../../../../fixtures/import/claude-desktop.log"),
    ];
    for fixture in fixtures {
        for end in (0..fixture.len()).step_by(61) {
            detect(&fixture[..end]);
            for format in FORMATS {
                said(format, &fixture[..end]);
                said(format, &fixture[end..]);
            }
        }
    }
}
