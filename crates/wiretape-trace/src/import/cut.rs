//! Splitting a source into units: lines, or the elements of arrays in a document.
//!
//! Only quotes and brackets are interpreted, so that one thread can split for all workers, memory doesn't
//! depend on the length of the source, and a broken unit costs only itself.

use super::item::{Defect, Flaw};
use memchr::{memchr_iter, memchr2, memrchr};
use std::ops::Range;

/// How a source is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Into lines, without the empty ones.
    Lines,
    /// Into the elements of arrays, each given by its path: `["log", "entries"]`, or `[]` for a document that
    /// is an array. Other members of the objects on these paths are units too.
    Document(&'static [&'static [&'static str]]),
}

/// A part of a source that is parsed on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<'u> {
    /// The unit's bytes, without surrounding white space.
    pub bytes: &'u [u8],
    /// The line of the source that it begins on, from 1.
    pub line: u64,
    /// The path of the member, if the unit is one: `log.creator`. `None` for elements and lines.
    pub member: Option<&'u str>,
    /// The element's number in its array, from 1. `None` for members and lines.
    pub entry: Option<u64>,
}

impl Unit<'_> {
    /// The line of the source at an offset in the unit, from 1.
    pub fn line_at(&self, offset: usize) -> u64 {
        self.line + newlines(&self.bytes[..offset.min(self.bytes.len())])
    }
}

/// A group of units, large enough that passing it to another thread costs little.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    units: Units,
    /// The flaws between the units.
    pub(super) flaws: Vec<Flaw>,
}

#[derive(Debug)]
enum Units {
    /// Every line is a unit. Holds the number of the first line.
    Lines(u64),
    Cut(Vec<Cut>),
}

impl Default for Units {
    fn default() -> Self {
        Units::Cut(Vec::new())
    }
}

#[derive(Debug)]
struct Cut {
    range: Range<usize>,
    line: u64,
    member: Option<String>,
    entry: Option<u64>,
}

impl Batch {
    /// The bytes that contain all units.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Calls `each` for every unit, in order.
    pub(super) fn each<'b>(&'b self, mut each: impl FnMut(Unit<'b>)) {
        match &self.units {
            Units::Lines(first) => {
                let mut start = 0;
                let ends = memchr_iter(b'\n', &self.bytes).chain([self.bytes.len()]);
                for (line, end) in (*first..).zip(ends) {
                    let bytes = self.bytes[start..end].trim_ascii();
                    start = (end + 1).min(self.bytes.len());
                    if !bytes.is_empty() {
                        each(Unit { bytes, line, member: None, entry: None });
                    }
                }
            }
            Units::Cut(cuts) => {
                for cut in cuts {
                    let bytes = &self.bytes[cut.range.clone()];
                    let member = cut.member.as_deref();
                    each(Unit { bytes, line: cut.line, member, entry: cut.entry });
                }
            }
        }
    }
}

/// In bytes. A batch is passed on once it is this large.
const BATCH: usize = 512 * 1024;

/// In bytes. A longer unit is not a message, and reading on would only fill memory.
const MAX_UNIT: usize = 512 * 1024 * 1024;

/// Splits a source that arrives in chunks.
pub(super) enum Cutter {
    Lines(LineCutter),
    Document(Box<DocumentCutter>),
}

impl Cutter {
    pub(super) fn new(shape: Shape) -> Self {
        match shape {
            Shape::Lines => Cutter::Lines(LineCutter { bytes: Vec::new(), line: 1 }),
            Shape::Document(ways) => Cutter::Document(Box::new(DocumentCutter::new(ways))),
        }
    }

    /// Adds the next bytes. Returns a batch if there is enough for one.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<Batch> {
        match self {
            Cutter::Lines(lines) => lines.push(bytes),
            Cutter::Document(document) => document.push(bytes),
        }
    }

    /// The last batch, which may be empty.
    pub(super) fn finish(self) -> Batch {
        match self {
            Cutter::Lines(lines) => {
                Batch { bytes: lines.bytes, units: Units::Lines(lines.line), flaws: Vec::new() }
            }
            Cutter::Document(document) => document.finish(),
        }
    }

    /// The current line of the source, from 1.
    pub(super) fn line(&self) -> u64 {
        match self {
            Cutter::Lines(lines) => lines.line + newlines(&lines.bytes),
            Cutter::Document(document) => document.line,
        }
    }

    /// Whether reading on is pointless: the document is broken, or a unit is too long.
    pub(super) fn is_stuck(&self) -> bool {
        match self {
            Cutter::Lines(lines) => lines.bytes.len() > MAX_UNIT,
            Cutter::Document(document) => {
                document.state == CutterState::Broken || document.batch.bytes.len() > MAX_UNIT
            }
        }
    }
}

pub(super) struct LineCutter {
    bytes: Vec<u8>,
    line: u64,
}

impl LineCutter {
    fn push(&mut self, bytes: &[u8]) -> Option<Batch> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() < BATCH {
            return None;
        }
        let end = memrchr(b'\n', &self.bytes)? + 1;
        // The full buffer becomes the batch, without a copy; only the incomplete line at its end moves.
        let mut rest = Vec::with_capacity(BATCH + bytes.len());
        rest.extend_from_slice(&self.bytes[end..]);
        self.bytes.truncate(end);
        let bytes = std::mem::replace(&mut self.bytes, rest);
        let line = self.line;
        self.line += newlines(&bytes);
        Some(Batch { bytes, units: Units::Lines(line), flaws: Vec::new() })
    }
}

/// Finds the elements of arrays in a document that arrives in chunks. Tracks brackets and quotes; whether the
/// rest is JSON is checked when the elements are parsed.
pub(super) struct DocumentCutter {
    ways: &'static [&'static [&'static str]],
    state: CutterState,
    /// The open containers that are on one of the paths.
    open: Vec<Frame>,
    /// The path of the current position.
    path: Vec<String>,
    value: ValueScan,
    key: Vec<u8>,
    batch: Batch,
    start: usize,
    start_line: u64,
    line: u64,
    separators: Separators,
    /// Bytes that don't belong to anything have already been reported.
    in_noise: bool,
    /// The paths of the arrays that were entered.
    entered: Vec<String>,
    /// The number of complete elements of the current array.
    elements: u64,
}

/// The separators since the last value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Separators {
    commas: usize,
    colons: usize,
    /// No value of the container precedes.
    first: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutterState {
    /// Between two values, or before the first.
    Between,
    /// Inside a member's name.
    Key,
    /// After a member's name, before its value.
    AfterKey,
    /// Inside a value that is a unit.
    Value,
    /// After the end of the document.
    After,
    /// The source is not a document of the expected shape.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Object,
    Array,
}

/// The state of scanning a value across chunks.
#[derive(Debug, Clone, Copy, Default)]
struct ValueScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    scalar: bool,
}

impl ValueScan {
    fn begin(first: u8) -> Self {
        // A scalar has no closing byte of its own: it ends before the next delimiter.
        let scalar = !matches!(first, b'{' | b'[' | b'"');
        ValueScan { depth: 0, in_string: false, escaped: false, scalar }
    }

    /// Returns how many of these bytes belong to the value, and whether it ends there.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        if self.scalar {
            let end = bytes
                .iter()
                .position(|byte| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace());
            return (end.unwrap_or(bytes.len()), end.is_some());
        }
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                if std::mem::take(&mut self.escaped) {
                    at += 1;
                    continue;
                }
                let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) else { return (bytes.len(), false) };
                at += found + 1;
                match bytes[at - 1] {
                    b'\\' => self.escaped = true,
                    _ => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return (at, true);
                        }
                    }
                }
                continue;
            }
            match bytes[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        (bytes.len(), false)
    }
}

impl DocumentCutter {
    fn new(ways: &'static [&'static [&'static str]]) -> Self {
        DocumentCutter {
            ways,
            state: CutterState::Between,
            open: Vec::new(),
            path: Vec::new(),
            value: ValueScan::default(),
            key: Vec::new(),
            batch: Batch::default(),
            start: 0,
            start_line: 1,
            line: 1,
            separators: Separators { first: true, ..Separators::default() },
            in_noise: false,
            entered: Vec::new(),
            elements: 0,
        }
    }

    fn push(&mut self, mut bytes: &[u8]) -> Option<Batch> {
        while !bytes.is_empty() {
            let used = match self.state {
                CutterState::Between | CutterState::AfterKey => self.between(bytes),
                CutterState::Key => self.key(bytes),
                CutterState::Value => self.value(bytes),
                CutterState::After => self.after(bytes),
                CutterState::Broken => break,
            };
            self.line += newlines(&bytes[..used]);
            bytes = &bytes[used..];
        }
        self.take()
    }

    fn after(&mut self, bytes: &[u8]) -> usize {
        let at =
            bytes.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != 0).unwrap_or(bytes.len());
        if at == 0 {
            self.flaw(Defect::Unexpected { expected: "the end of the document" });
            // May be the start of another document.
            self.state =
                if matches!(bytes[0], b'{' | b'[') { CutterState::Between } else { CutterState::Broken };
            self.separators = Separators { first: true, ..Separators::default() };
        }
        at
    }

    /// Consumes white space and separators between values, or the first byte of what comes next.
    fn between(&mut self, bytes: &[u8]) -> usize {
        // NULs count as white space: a crash of the machine may leave them between entries.
        let is_separator = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b':' | 0);
        let at = bytes.iter().position(|byte| !is_separator(byte)).unwrap_or(bytes.len());
        if at > 0 {
            self.separators.commas += bytes[..at].iter().filter(|byte| **byte == b',').count();
            self.separators.colons += bytes[..at].iter().filter(|byte| **byte == b':').count();
            return at;
        }
        let in_object = self.open.last() == Some(&Frame::Object);
        let in_array = self.open.last() == Some(&Frame::Array);
        let wants_key = in_object && self.state == CutterState::Between;
        match bytes[0] {
            b'}' if wants_key => self.close(),
            b']' if in_array => self.close(),
            b'"' if wants_key => {
                self.check_separators(self.state);
                self.key.clear();
                self.value = ValueScan { in_string: true, ..ValueScan::default() };
                self.state = CutterState::Key;
            }
            // Containers on a path are entered; all others are values, and become units as a whole.
            b'{' if self.goes_on() => self.enter(Frame::Object),
            b'[' if self.is_way() => self.enter(Frame::Array),
            // Before the first container there is nothing to recover; inside one, the next entry may be
            // intact.
            _ if self.open.is_empty() => self.refuse(),
            b'}' | b']' => self.noise(),
            _ if wants_key => self.noise(),
            first => {
                self.check_separators(self.state);
                self.begin_value(first);
                return 0;
            }
        }
        1
    }

    /// Requires one colon between a name and its value, and one comma between other values.
    fn check_separators(&mut self, state: CutterState) {
        let Separators { commas, colons, first } = std::mem::take(&mut self.separators);
        let right = match state {
            CutterState::AfterKey => (commas, colons) == (0, 1),
            _ => (commas, colons) == (usize::from(!first), 0),
        };
        if !right {
            self.flaw(Defect::Separator);
        }
        self.in_noise = false;
    }

    /// Whether an object that begins here is on one of the paths.
    fn goes_on(&self) -> bool {
        self.open.last() != Some(&Frame::Array)
            && self
                .ways
                .iter()
                .any(|way| way.len() > self.path.len() && way.iter().zip(&self.path).all(|(a, b)| a == b))
    }

    /// Whether an array that begins here is at the end of a path.
    fn is_way(&self) -> bool {
        self.open.last() != Some(&Frame::Array) && self.ways.iter().any(|way| way.iter().eq(self.path.iter()))
    }

    fn enter(&mut self, frame: Frame) {
        self.check_separators(if self.open.is_empty() { CutterState::Between } else { self.state });
        if frame == Frame::Array {
            let way = self.path.join(".");
            // A second array of the same path: which of the two counts is undefined, so both are imported and
            // the flaw is reported.
            if self.entered.contains(&way) {
                self.flaw(Defect::DuplicateKey);
            }
            self.entered.push(way);
            self.elements = 0;
        }
        self.open.push(frame);
        self.separators.first = true;
        self.state = CutterState::Between;
    }

    fn close(&mut self) {
        let Separators { commas, colons, .. } = std::mem::take(&mut self.separators);
        if commas + colons > 0 {
            self.flaw(Defect::Separator);
        }
        self.open.pop();
        self.path.pop();
        self.state = if self.open.is_empty() { CutterState::After } else { CutterState::Between };
    }

    /// Rejects the source as a document.
    fn refuse(&mut self) {
        self.flaw(Defect::WrongDocument {
            expected: "a JSON object or array of the kind that this format has",
        });
        self.state = CutterState::Broken;
    }

    /// Skips a byte that doesn't belong to anything; what follows may be intact.
    fn noise(&mut self) {
        if !std::mem::replace(&mut self.in_noise, true) {
            self.flaw(Defect::Unexpected { expected: "a part of the document" });
        }
    }

    fn flaw(&mut self, defect: Defect) {
        self.batch.flaws.push(Flaw { line: self.line, entry: None, defect });
    }

    fn key(&mut self, bytes: &[u8]) -> usize {
        let (used, ended) = self.value.advance(bytes);
        self.key.extend_from_slice(&bytes[..used]);
        if ended {
            self.key.pop();
            let name = crate::json::unescape(&self.key);
            self.path.push(String::from_utf8_lossy(&name).into_owned());
            self.state = CutterState::AfterKey;
        }
        used
    }

    fn begin_value(&mut self, first: u8) {
        self.value = ValueScan::begin(first);
        self.start = self.batch.bytes.len();
        self.start_line = self.line;
        self.state = CutterState::Value;
    }

    fn value(&mut self, bytes: &[u8]) -> usize {
        let (used, ended) = self.value.advance(bytes);
        self.batch.bytes.extend_from_slice(&bytes[..used]);
        if ended {
            self.end_value();
        }
        used
    }

    fn end_value(&mut self) {
        let in_array = self.open.last() == Some(&Frame::Array);
        let member = (!in_array).then(|| self.path.join("."));
        let entry = self.entry();
        self.elements += u64::from(in_array);
        let range = self.start..self.batch.bytes.len();
        if let Units::Cut(cuts) = &mut self.batch.units {
            cuts.push(Cut { range, line: self.start_line, member, entry });
        }
        if !in_array {
            self.path.pop();
        }
        self.state = CutterState::Between;
    }

    /// The number of the current element.
    fn entry(&self) -> Option<u64> {
        (self.open.last() == Some(&Frame::Array)).then_some(self.elements + 1)
    }

    /// Takes the complete units, if they are large enough for a batch. An incomplete value stays.
    fn take(&mut self) -> Option<Batch> {
        // The bytes of an incomplete value stay; its offset is from the start of the next batch.
        let whole = if self.state == CutterState::Value { self.start } else { self.batch.bytes.len() };
        if whole < BATCH {
            return None;
        }
        let rest = self.batch.bytes.split_off(whole);
        self.start = 0;
        Some(std::mem::replace(&mut self.batch, Batch { bytes: rest, ..Batch::default() }))
    }

    fn finish(mut self) -> Batch {
        match self.state {
            CutterState::After | CutterState::Broken => {}
            CutterState::Between if self.open.is_empty() => self.refuse(),
            CutterState::Value => {
                // An incomplete element is not a unit; the flaw below reports it.
                self.batch.bytes.truncate(self.start);
                let entry = self.entry();
                self.batch.flaws.push(Flaw { line: self.start_line, entry, defect: Defect::CutOff });
            }
            CutterState::Between | CutterState::Key | CutterState::AfterKey => self.flaw(Defect::CutOff),
        }
        self.batch
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRIES: Shape = Shape::Document(&[&["entries"], &["log", "entries"], &[]]);

    fn cut(shape: Shape, pieces: &[&[u8]]) -> (Vec<String>, Vec<Flaw>) {
        let mut cutter = Cutter::new(shape);
        let (mut units, mut flaws) = (Vec::new(), Vec::new());
        let mut take = |batch: Batch| {
            batch.each(|unit| {
                let text = String::from_utf8_lossy(unit.bytes);
                units.push(format!("{}{}:{text}", unit.line, unit.member.unwrap_or_default()));
            });
            flaws.extend(batch.flaws);
        };
        for piece in pieces {
            cutter.push(piece).into_iter().for_each(&mut take);
        }
        take(cutter.finish());
        (units, flaws)
    }

    #[track_caller]
    fn check(input: &str, expected: &[&str], defects: &[Defect]) {
        let (units, flaws) = cut(ENTRIES, &[input.as_bytes()]);
        assert_eq!(units, expected);
        assert_eq!(flaws.iter().map(|flaw| flaw.defect).collect::<Vec<_>>(), defects);
    }

    #[test]
    fn documents_are_cut_into_elements_and_members() {
        check(
            "{\"transport\":\"x\",\n \"entries\" : [ {\"a\":\"]\\\"\"} ,\n[1,[2]], 3,\"s\" ],\"n\":{\"entries\":[9]}}\n",
            &[
                "1transport:\"x\"",
                "2:{\"a\":\"]\\\"\"}",
                "3:[1,[2]]",
                "3:3",
                "3:\"s\"",
                "3n:{\"entries\":[9]}",
            ],
            &[],
        );
        check("[1,\n{}]", &["1:1", "2:{}"], &[]);
        check("{\"log\":{\"v\":1,\"entries\":[7]},\"x\":null}", &["1log.v:1", "1:7", "1x:null"], &[]);
        check("{\"e\\u006etries\":[7]}", &["1:7"], &[]);
        check("{\"entries\":7}", &["1entries:7"], &[]);
        check("{}", &[], &[]);
    }

    #[test]
    fn what_is_broken_is_kept_as_far_as_it_goes() {
        let wrong =
            Defect::WrongDocument { expected: "a JSON object or array of the kind that this format has" };
        check("", &[], &[wrong]);
        check("hello", &[], &[wrong]);
        check("{\"entries\":[1,{\"a\":", &["1:1"], &[Defect::CutOff]);
        check("{\"entries\":[1", &[], &[Defect::CutOff]);
        check("{\"entries\":[1,", &["1:1"], &[Defect::CutOff]);
        check("[1]x", &["1:1"], &[Defect::Unexpected { expected: "the end of the document" }]);
        let noise = Defect::Unexpected { expected: "a part of the document" };
        check("{\"entries\":[1}", &["1:1"], &[noise, Defect::CutOff]);
        check("[1,},2]", &["1:1", "1:2"], &[noise, Defect::Separator]);
        check(
            "[1]\n[2]",
            &["1:1", "2:2"],
            &[Defect::Unexpected { expected: "the end of the document" }, Defect::DuplicateKey],
        );
    }

    #[test]
    fn separators_are_looked_at() {
        let wrong = Defect::Separator;
        check("[1 2]", &["1:1", "1:2"], &[wrong]);
        check("[,1]", &["1:1"], &[wrong]);
        check("[1,]", &["1:1"], &[wrong]);
        check("{\"a\" 1,\"entries\"::[7],,\"b\":2}", &["1a:1", "1:7", "1b:2"], &[wrong, wrong, wrong]);
        check("{\"entries\":[],\"entries\":[7]}", &["1:7"], &[Defect::DuplicateKey]);
    }

    #[test]
    fn lines_are_cut_in_batches() {
        let line = "x".repeat(1000) + "\r\n";
        let source = format!("\n{}last", line.repeat(3000));
        let pieces: Vec<&[u8]> = source.as_bytes().chunks(100_000).collect();
        let (units, _) = cut(Shape::Lines, &pieces);
        assert_eq!(units.len(), 3001);
        assert!(units[0].starts_with("2:xxx") && !units[0].ends_with('\r'));
        assert_eq!(units[3000], "3002:last");
    }

    proptest! {
        #[test]
        fn how_a_document_comes_in_pieces_does_not_matter(
            input in r#"[\[\]{}",:a1\n\\ ]{0,40}"#,
            at in 0_usize..40,
        ) {
            let input = format!("{{\"entries\":[{input}");
            let at = at.min(input.len());
            let (one, two) = input.as_bytes().split_at(at);
            prop_assert_eq!(cut(ENTRIES, &[one, two]), cut(ENTRIES, &[input.as_bytes()]));
        }
    }
}
