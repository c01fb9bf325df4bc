//! What was found: which rule, where, and a piece of the line to look at.

use super::locate::locate_nearest;
use super::rule::Rule;
use std::ops::Range;
use wiretape_trace::value::Value;

/// A rule that was broken, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The rule.
    pub rule: &'static Rule,
    /// The line of the trace, from 1.
    pub line: u64,
    /// The line's sequence number, if it has one.
    pub seq: Option<u64>,
    /// A JSON pointer into that line: `/raw/params/name`.
    pub pointer: String,
    /// The bytes of that line that are meant, if they could be found.
    pub span: Option<Range<usize>>,
    /// What is wrong here.
    pub message: String,
    /// A piece of the line.
    pub excerpt: Option<Excerpt>,
    /// Another line that belongs to it, and what that one is.
    pub related: Option<Related>,
}

impl Diagnostic {
    /// Finds the place in its line.
    pub fn show_in(&mut self, line: &[u8]) {
        let part = part_of(line, &self.pointer);
        self.span = match &part {
            // The name of the whole payload says nothing: its first byte is meant.
            Some(part) if self.pointer.matches('/').count() == 1 => Some(first_of(line, part)),
            _ => locate_nearest(line, &self.pointer),
        };
        self.excerpt = self.span.clone().map(|span| excerpt(line, part, span));
    }
}

/// A piece of the part of the line that a finding is about.
fn excerpt(line: &[u8], part: Option<Range<usize>>, span: Range<usize>) -> Excerpt {
    let part = part.filter(|part| part.start <= span.start && span.end <= part.end).unwrap_or(0..line.len());
    Excerpt::around(&line[part.clone()], span.start - part.start..span.end - part.start)
}

/// The member of the line that a pointer is about: the payload, the text or the HTTP exchange.
fn part_of(line: &[u8], pointer: &str) -> Option<Range<usize>> {
    let value = Value::parse(line).ok()?.get(pointer.split('/').nth(1)?)?;
    Some(value.offset..value.offset + value.raw.len())
}

/// All of a scalar; of an object or array its bracket.
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
    /// What is there.
    pub what: &'static str,
}

/// A piece of a line around what is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The piece, as it stands in the line; what is not UTF-8 is replaced.
    pub text: String,
    /// What is meant, in bytes of `text`.
    pub mark: Range<usize>,
    /// Whether something stands before it.
    pub cut_before: bool,
    /// Whether something follows it.
    pub cut_after: bool,
}

impl Excerpt {
    /// How many bytes are kept on each side of what is meant, and of what is meant itself.
    const AROUND: usize = 160;
    const LONGEST: usize = 320;

    /// The piece of `bytes` around `mark`.
    pub fn around(bytes: &[u8], mark: Range<usize>) -> Self {
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

/// The first offset at or before `at` where a character begins.
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
