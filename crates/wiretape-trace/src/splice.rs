//! Bytes with a few places changed, and everything else as it was.

use std::ops::Range;

/// What stands in a place from now on.
pub type Edit = (Range<usize>, Vec<u8>);

/// Puts other bytes in some places, which are in order and apart.
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
