//! Differences for people: the old value above the new one, each on one line. `diff` and `verify` share it; what
//! differs, and how much that matters, is decided in `wiretape-analyze`.

use crate::json;
use crate::output::{Output, Paint, StyledLine, Styles};
use crate::text::{ELLIPSIS, printable};
use std::io;
use wiretape_analyze::drift::{Change, Drift, Effect};
use wiretape_trace::message::Envelope;

/// The most of a value to show where the width is unlimited, in bytes.
pub(crate) const MAX_VALUE: usize = 300;

/// Prints differences to standard output.
pub(crate) struct DifferenceView {
    pub(crate) out: Output,
    pub(crate) styles: Styles,
    width: Option<usize>,
}

impl DifferenceView {
    pub(crate) fn new(out: Output) -> Self {
        let (styles, width) = (out.styles, out.width);
        DifferenceView { out, styles, width }
    }

    /// Writes one line, truncated to the width.
    pub(crate) fn line(&mut self, pieces: &[(Paint, &str)]) -> io::Result<()> {
        let mut line = StyledLine::default();
        for (paint, piece) in pieces {
            line.push(*paint, *piece);
        }
        line.write(&mut self.out, self.width)
    }

    /// Writes a line in full; a narrow terminal wraps it.
    pub(crate) fn whole_line(&mut self, paint: Paint, text: &str) -> io::Result<()> {
        let mut line = StyledLine::default();
        line.push(paint, text);
        line.write(&mut self.out, None)
    }

    /// Reports the lists that could only be compared in part.
    pub(crate) fn partial_lists(&mut self, drift: &Drift) -> io::Result<()> {
        for kind in &drift.partial {
            let note = format!(
                "  `{}` was listed only in part: items may be missing from the comparison",
                kind.method()
            );
            let dim = self.styles.dim;
            self.line(&[(dim, &note)])?;
        }
        Ok(())
    }

    /// Writes the change of one definition.
    pub(crate) fn definition(&mut self, change: &Change) -> io::Result<()> {
        let styles = self.styles;
        let (paint, word) = match change.effect {
            Effect::Breaking => (styles.warning, "! breaking  "),
            Effect::Informing => (styles.hint, "~ "),
        };
        let sentence = printable(&change.sentence).into_owned();
        self.line(&[(paint, word), (styles.plain, &sentence)])?;
        // A definition that was added or removed as a whole is only named; printing it would fill a page.
        if change.pointer.is_empty() && (change.before.is_none() || change.after.is_none()) {
            return Ok(());
        }
        self.values(change.before.as_deref(), change.after.as_deref())
    }

    /// Writes two values, from shortly before they differ.
    pub(crate) fn values(&mut self, before: Option<&[u8]>, after: Option<&[u8]>) -> io::Result<()> {
        // Six columns are taken by the indentation and the mark.
        let budget = self.width.map_or(MAX_VALUE, |width| width.saturating_sub(6).max(20));
        let from = match (before, after) {
            (Some(before), Some(after)) => cut(before, after, budget),
            _ => 0,
        };
        let show = |value: Option<&[u8]>| value.map(|value| excerpt(value, from, budget));
        let (before, after) = (show(before), show(after));
        self.texts(before, after)
    }

    /// Writes two texts; a missing one is left out.
    pub(crate) fn texts(&mut self, before: Option<String>, after: Option<String>) -> io::Result<()> {
        let (error, good) = (self.styles.error, self.styles.good);
        for (paint, mark, text) in [(error, "    - ", before), (good, "    + ", after)] {
            if let Some(text) = text {
                self.line(&[(paint, mark), (paint, &text)])?;
            }
        }
        Ok(())
    }
}

/// The arguments of a request, on one line.
pub(crate) fn arguments(request: &[u8]) -> String {
    let Some(params) = Envelope::scan(request).params else { return String::new() };
    match json::member(params, "arguments") {
        Some(arguments) => json::compact(arguments, MAX_VALUE),
        None => json::compact_members(params, &["_meta", "name"], MAX_VALUE),
    }
}

/// Where to begin showing two long values: shortly before they differ.
fn cut(before: &[u8], after: &[u8], budget: usize) -> usize {
    // Enough context to recognize the member that differs.
    const LEAD: usize = 16;
    if before.len().max(after.len()) <= budget {
        return 0;
    }
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    // An early difference is visible from the start of the value, which is easier to recognize than an excerpt.
    if same < budget / 2 { 0 } else { same - LEAD.min(same) }
}

/// A value, or an excerpt from about this byte on.
fn excerpt(value: &[u8], from: usize, budget: usize) -> String {
    if from == 0 {
        return json::compact(value, budget);
    }
    let rest = &value[from.min(value.len())..];
    // The offset is in bytes and may fall inside a UTF-8 character: its continuation bytes are skipped.
    let skip = rest.iter().take_while(|byte| (**byte & 0xc0) == 0x80).count();
    let rest = &rest[skip..];
    let stretch = String::from_utf8_lossy(&rest[..rest.len().min(budget)]);
    let end = if rest.len() > budget { ELLIPSIS.to_string() } else { String::new() };
    // The end may fall inside a character as well; the replacement character that this leaves is cut off.
    format!("{ELLIPSIS}{}{end}", printable(stretch.trim_end_matches('\u{fffd}')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shown_where_they_differ() {
        let long = |end: &str| format!("\"{}{end}\"", "ä".repeat(100));
        let (one, other) = (long("x"), long("y"));
        let from = cut(one.as_bytes(), other.as_bytes(), 40);
        assert_eq!(excerpt(one.as_bytes(), from, 40), "…ääääääääx\"");
        assert_eq!(excerpt(other.as_bytes(), from, 40), "…ääääääääy\"");
        assert_eq!(cut(b"1", b"2", 40), 0);
        assert_eq!(excerpt(b"{\"a\":1}", 0, 40), "{\"a\": 1}");
    }
}
