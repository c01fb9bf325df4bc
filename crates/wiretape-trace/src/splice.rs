//! Replacing ranges of bytes and copying everything else.
//!
//! Used where a message has to be changed without parsing and printing it again, which would change key
//! order, escapes and numbers.

use std::ops::Range;

/// A range and the bytes that replace it.
pub type Edit = (Range<usize>, Vec<u8>);

/// Applies edits, which must be in ascending order and must not overlap.
pub fn splice(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let more: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + more);
    let mut copied = 0;
    for (range, text) in edits {
        out.extend_from_slice(&bytes[copied..range.start]);
        out.extend_from_slice(text);
        copied = range.end;
    }
    out.extend_from_slice(&bytes[copied..]);
    out
}
