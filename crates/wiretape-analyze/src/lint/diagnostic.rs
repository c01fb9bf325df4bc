//! A finding: the rule, the position, and an excerpt of the line.

use super::locate::locate_nearest;
use super::rule::Rule;
use std::ops::Range;
use wiretape_trace::value::Value;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The rule that was violated.
    pub rule: &'static Rule,
    /// The line of the trace, from 1.
    pub line: u64,
    /// The line's sequence number, if it has one.
    pub seq: Option<u64>,
    /// A JSON pointer into that line: `/raw/params/name`.
    pub pointer: String,
    /// The byte range in the line, if the pointer could be resolved.
    pub span: Option<Range<usize>>,
    /// What is wrong here.
    pub message: String,
    /// The part of the line around the position.
    pub excerpt: Option<Excerpt>,
    /// Another line that explains the finding.
    pub related: Option<Related>,
}

impl Diagnostic {
    /// Resolves the pointer in the line, and takes the excerpt.
    pub fn show_in(&mut self, line: &[u8]) {
        let part = part_of(line, &self.pointer);
        self.span = match &part {
            // For the whole payload, the key `raw` would be marked, which says nothing; mark its first byte instead.
            Some(part) if self.pointer.matches('/').count() == 1 => Some(first_of(line, part)),
            _ => locate_nearest(line, &self.pointer),
        };
        self.excerpt = self.span.clone().map(|span| excerpt(line, part, span));
    }
}

/// An excerpt of the part of the line that a finding is about.
fn excerpt(line: &[u8], part: Option<Range<usize>>, span: Range<usize>) -> Excerpt {
    let part = part.filter(|part| part.start <= span.start && span.end <= part.end).unwrap_or(0..line.len());
    Excerpt::around(&line[part.clone()], span.start - part.start..span.end - part.start)
}

/// The member of the line that a pointer starts with: the payload, the text or the HTTP exchange.
fn part_of(line: &[u8], pointer: &str) -> Option<Range<usize>> {
    let value = Value::parse(line).ok()?.get(pointer.split('/').nth(1)?)?;
    Some(value.offset..value.offset + value.raw.len())
}

/// The whole of a scalar; for an object or array, its opening bracket.
fn first_of(line: &[u8], part: &Range<usize>) -> Range<usize> {
    match line[part.start] {
        b'{' | b'[' => part.start..part.start + 1,
        _ => part.clone(),
    }
}

/// A line that explains another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// The line of the trace.
    pub line: u64,
    /// What that line is: `the request`, `the response`.
    pub what: &'static str,
}

/// A part of a line with a marked range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text as in the line; invalid UTF-8 is replaced.
    pub text: String,
    /// The marked range, in bytes of `text`.
    pub mark: Range<usize>,
    /// Whether the line has more before it.
    pub cut_before: bool,
    /// Whether the line has more after it.
    pub cut_after: bool,
}

impl Excerpt {
    /// Bytes kept on each side of the marked range, and of the range itself: enough for a terminal, whatever the line's length.
    const AROUND: usize = 160;
    const LONGEST: usize = 320;

    /// The excerpt of `bytes` around `mark`.
    pub fn around(bytes: &[u8], mark: Range<usize>) -> Self {
        // The line may be another than the one that was linted, if the file changed in between; nothing may panic
        // then.
        let mark = mark.start.min(bytes.len())..mark.end.min(bytes.len()).max(mark.start.min(bytes.len()));
        let end = mark.end.min(mark.start + Self::LONGEST);
        let from = boundary_before(bytes, mark.start.saturating_sub(Self::AROUND));
        let to = boundary_before(bytes, (end + Self::AROUND).min(bytes.len()));
        let text_of = |range: Range<usize>| String::from_utf8_lossy(&bytes[range]).into_owned();
        let before = text_of(from..mark.start);
        let inside = text_of(mark.start..boundary_before(bytes, end).max(mark.start));
        let after = text_of(boundary_before(bytes, end).max(mark.start)..to.max(boundary_before(bytes, end)));
        Excerpt {
            mark: before.len()..before.len() + inside.len(),
            text: [before, inside, after].concat(),
            cut_before: from > 0,
            cut_after: to < bytes.len(),
        }
    }
}

/// The last character boundary at or before `at`. Invalid UTF-8 has none within 3 bytes; then `at` itself.
fn boundary_before(bytes: &[u8], at: usize) -> usize {
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let least = at.saturating_sub(3);
    (least..=at).rev().find(|at| !is_inside(at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, mark: Range<usize>, expected: &str) {
        let excerpt = Excerpt::around(text.as_bytes(), mark);
        let marked = &excerpt.text[excerpt.mark.clone()];
        let length = excerpt.text.chars().count();
        let told = format!("{marked} {length} {} {}", excerpt.cut_before, excerpt.cut_after);
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_meant_stays_in_sight() {
        check("abc", 1..2, "b 3 false false");
        check(&"é".repeat(300), 200..202, "é 161 true true");
        check(&format!("{}x", "a".repeat(1000)), 1000..1001, "x 161 true false");
        check("abc", 9..12, " 3 false false");
        assert_eq!(Excerpt::around(&[b'a'; 2000], 5..1999).mark, 5..325);
    }
}
