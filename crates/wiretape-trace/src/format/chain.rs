//! Tamper evidence: check values that tie each line of a trace to all bytes before it.
//!
//! One SHA-256 runs over the bytes of a file. Every line but `meta` carries in `h` the first eight hexadecimal digits of the
//! digest of all bytes before the line, and the last line (`end`, or `rotated` of a part) carries in `sha256` the whole digest
//! of all bytes before that member: the **head**. So a change is located at its line, and the head, kept
//! elsewhere, vouches for the whole file. A running digest rather than a digest for each line, because a finished block of SHA-256 is all that a
//! line then costs on top of its own bytes: 0.2 µs for a line of 200 bytes with the processor's own instructions.
//!
//! What this does not prove: anyone who can write the file can compute all check values again. The only protection is a head that
//! was kept where the file's owner can't change it.

use ring::digest::{Context, SHA256};
use std::fmt;
use std::io::{self, BufRead};

/// How many hexadecimal digits of the digest a line carries: enough to locate an accident or a careless edit.
/// Certainty comes from the whole digest in the last line.
const CHECK_DIGITS: usize = 8;

/// In bytes. Only this much of a line is kept in memory to search it for check values; the rest is only
/// hashed. `end` and `rotated` lines are shorter, and `h` comes early in the others.
const KEPT: usize = 64 * 1024;

const HEX: &[u8; 16] = b"0123456789abcdef";
const CHECK: &[u8] = b",\"h\":\"";
const HEAD: &[u8] = b",\"sha256\":\"";
const ORIGINAL: &[u8] = b",\"original\":\"";

/// Hexadecimal digits of a whole digest.
const HEAD_DIGITS: usize = 64;

/// The running digest of a file.
// Ring, not `sha2`: without SHA instructions in the processor, its assembler is about three times as fast, and hashing
// would otherwise be the largest part of recording (`xtask bench --only stdio`).
#[derive(Clone)]
pub struct Chain {
    hasher: Context,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { hasher: Context::new(&SHA256) }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chain").field(&self.head()).finish()
    }
}

impl Chain {
    /// Adds the next bytes of the file.
    pub fn absorb(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The digest of all bytes so far, in hexadecimal.
    pub fn head(&self) -> String {
        let mut text = Vec::with_capacity(64);
        push_hex(&mut text, self.hasher.clone().finish().as_ref());
        String::from_utf8(text).expect("hexadecimal digits are ASCII")
    }

    /// The head that the last line of a file carries.
    pub fn head_in(line: &[u8]) -> Option<String> {
        let at = memchr::memmem::rfind(line, HEAD)? + HEAD.len();
        hex(line.get(at..at + HEAD_DIGITS)?)
    }

    /// The head of the original, which the last line of a redacted copy carries if the copy differs from it.
    pub fn original_in(line: &[u8]) -> Option<String> {
        let members = &line[..memchr::memmem::rfind(line, HEAD)?];
        // Directly before the head, so that nothing else in the line can be taken for it.
        let (rest, digits) = members.strip_suffix(b"\"")?.split_last_chunk::<HEAD_DIGITS>()?;
        rest.ends_with(ORIGINAL).then(|| hex(digits)).flatten()
    }

    /// Appends the check value of the line that begins here.
    pub(super) fn push_check(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(CHECK);
        push_hex(out, &self.hasher.clone().finish().as_ref()[..CHECK_DIGITS / 2]);
        out.push(b'"');
    }

    /// Appends the head as the last member of the line that begins at `start`, and absorbs that line.
    pub(super) fn push_head(&mut self, out: &mut Vec<u8>, start: usize) {
        self.absorb(&out[start..]);
        let rest = out.len();
        out.extend_from_slice(HEAD);
        push_hex(out, self.hasher.clone().finish().as_ref());
        out.extend_from_slice(b"\"}\n");
        self.absorb(&out[rest..]);
    }
}

/// The digits as text; `None` if there are others than hexadecimal ones.
fn hex(digits: &[u8]) -> Option<String> {
    digits.iter().all(|digit| HEX.contains(digit)).then(|| String::from_utf8_lossy(digits).into_owned())
}

fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// The check values of a changed copy, such as a redacted one.
///
/// The values of the original don't match the lines of the copy, which would therefore be reported as modified. So a
/// copy gets values of its own. The original is checked on the way: from the first line on that was modified, its values are
/// copied as they are. They don't match, and so copying doesn't hide that the original was modified.
///
/// The last line of a copy that differs names the head of the original (`original`): a store that has this head can tell the
/// copy from a recording that someone has replaced.
#[derive(Debug, Default)]
pub struct CopyChain {
    original: Chain,
    copy: Chain,
    /// Whether the lines of the original carry check values, and these match so far.
    is_chained: bool,
    /// The head of the last file and the head of its copy: the next part of the recording names it.
    heads: Option<(String, String)>,
}

impl CopyChain {
    /// Appends a changed line to `out`, with its newline; `original` and `changed` have none. A `meta` line begins the next
    /// file.
    pub fn push_line(&mut self, out: &mut Vec<u8>, original: &[u8], changed: &[u8]) {
        let start = out.len();
        if original.starts_with(META) {
            out.extend_from_slice(changed);
            self.begin(original, &mut out[start..]);
        } else if !self.is_chained || !self.push_checked(out, original, changed) {
            self.is_chained = false;
            out.extend_from_slice(changed);
        }
        if !out[start..].ends_with(b"\n") {
            out.push(b'\n');
        }
        if self.is_chained {
            self.original.absorb(original);
            self.original.absorb(b"\n");
            self.copy.absorb(&out[start..]);
        }
    }

    fn begin(&mut self, original: &[u8], meta: &mut [u8]) {
        if let Some((old, new)) = self.heads.take()
            && let Some(at) = memchr::memmem::find(meta, old.as_bytes())
        {
            meta[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
        self.is_chained = memchr::memmem::find(original, CHAINED_META).is_some();
        (self.original, self.copy) = (Chain::default(), Chain::default());
    }

    /// Appends a line with new check values. Appends nothing and returns false if the original's don't match.
    fn push_checked(&mut self, out: &mut Vec<u8>, original: &[u8], changed: &[u8]) -> bool {
        let mut check = Vec::new();
        self.original.push_check(&mut check);
        let place = |line: &[u8]| memchr::memmem::find(&line[..line.len().min(NEAR)], &check);
        let (Some(_), Some(at)) = (place(original), place(changed)) else { return false };
        let start = out.len();
        out.extend_from_slice(&changed[..at]);
        self.copy.push_check(out);
        let rest = &changed[at + check.len()..];
        let head = self.original_head(original);
        match head.as_deref().and_then(|head| Some((head, rest.strip_suffix(&head_member(head)[..])?))) {
            Some((head, rest)) => {
                out.extend_from_slice(rest);
                // A copy of a copy keeps the head of the recording.
                if Chain::original_in(original).is_none() && self.copy_head(&out[start..]) != head {
                    out.extend_from_slice(ORIGINAL);
                    out.extend_from_slice(head.as_bytes());
                    out.push(b'"');
                }
                self.copy.push_head(out, start);
                self.heads = Some(head.to_owned()).zip(Chain::head_in(&out[start..]));
            }
            // Also a last line with a wrong digest, which the copy keeps.
            None => out.extend_from_slice(rest),
        }
        // The recorder writes nothing after the last line.
        self.is_chained = !is_last(original);
        true
    }

    /// The digest of the copy, with the members of its last line so far.
    fn copy_head(&self, members: &[u8]) -> String {
        let mut chain = self.copy.clone();
        chain.absorb(members);
        chain.head()
    }

    /// The digest of the original, if this is its last line and has the right one.
    fn original_head(&self, line: &[u8]) -> Option<String> {
        let at = memchr::memmem::rfind(line, HEAD).filter(|_| is_last(line))?;
        let mut chain = self.original.clone();
        chain.absorb(&line[..at]);
        Some(chain.head()).filter(|head| line[at..] == head_member(head))
    }
}

/// The end of the last line, without its newline.
fn head_member(head: &str) -> Vec<u8> {
    [HEAD, head.as_bytes(), b"\"}"].concat()
}

/// The result of checking a file's check values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrity {
    /// Every byte is as the recorder wrote it.
    Intact {
        /// The number of lines.
        lines: u64,
        /// The digest in the last line, in hexadecimal.
        head: String,
        /// The digest of the original, if this is a redacted copy that differs from it.
        original: Option<String>,
    },
    /// Everything in the file is as it was written, but the file doesn't end with an `end` or a `rotated`
    /// line.
    CutOff {
        /// The last complete line, from 1.
        line: u64,
    },
    /// Something was changed, added or removed.
    Modified {
        /// The first line that differs, from 1; those before it are unchanged.
        line: u64,
    },
    /// The file carries no check values: it was imported, or written by another program or an older version.
    Unchecked,
}

/// Verifies the check values of a whole file. Reports the first deviation.
pub fn check_integrity(mut source: impl BufRead) -> io::Result<Integrity> {
    let mut check = Checker::default();
    let mut line = Vec::new();
    while let Some(finding) = check.line(&mut source, &mut line)? {
        if let Some(integrity) = finding {
            return Ok(integrity);
        }
    }
    Ok(check.finish())
}

#[derive(Default)]
struct Checker {
    chain: Chain,
    number: u64,
    /// Whether `meta` announces check values.
    is_chained: bool,
    /// The head, once the last line has been read.
    head: Option<String>,
    /// The digest of the original, from the last line of a redacted copy.
    original: Option<String>,
}

impl Checker {
    /// Reads and checks one line: `None` at the end of the file, a finding if it ends the check.
    fn line(
        &mut self,
        source: &mut impl BufRead,
        line: &mut Vec<u8>,
    ) -> io::Result<Option<Option<Integrity>>> {
        let before = self.chain.clone();
        line.clear();
        let Some(is_whole) = self.read(source, line)? else { return Ok(None) };
        self.number += 1;
        if !is_whole {
            return Ok(Some(Some(Integrity::CutOff { line: self.number - 1 })));
        }
        Ok(Some(self.judge(&before, line)))
    }

    fn judge(&mut self, before: &Chain, line: &[u8]) -> Option<Integrity> {
        if self.number == 1 {
            self.is_chained = memchr::memmem::find(line, CHAINED_META).is_some();
            return None;
        }
        if !self.is_chained {
            // Check values that `meta` doesn't announce: then `meta` was changed.
            let has_check = value_after(line, CHECK, CHECK_DIGITS).is_some();
            return Some(if has_check { Integrity::Modified { line: 1 } } else { Integrity::Unchecked });
        }
        if self.head.is_some() {
            // Something was appended after the last line.
            return Some(Integrity::Modified { line: self.number });
        }
        let Some(found) = value_after(line, CHECK, CHECK_DIGITS) else {
            return Some(Integrity::Modified { line: self.number });
        };
        let mut expected = Vec::new();
        before.push_check(&mut expected);
        if expected[CHECK.len()..][..CHECK_DIGITS] != *found {
            // The value in the previous line was right, so the bytes before that line are unchanged: the
            // previous line itself is the first that differs.
            return Some(Integrity::Modified { line: (self.number - 1).max(1) });
        }
        self.judge_head(before, line)
    }

    fn judge_head(&mut self, before: &Chain, line: &[u8]) -> Option<Integrity> {
        if !is_last(line) {
            return None;
        }
        let Some(at) = memchr::memmem::rfind(line, HEAD) else {
            return Some(Integrity::Modified { line: self.number });
        };
        let mut chain = before.clone();
        chain.absorb(&line[..at]);
        let head = chain.head();
        if line[at..].strip_suffix(b"\n") != Some(&head_member(&head)[..]) {
            return Some(Integrity::Modified { line: self.number });
        }
        self.head = Some(head);
        self.original = Chain::original_in(line);
        None
    }

    /// Reads a line, keeps its beginning and adds all of it to the digest. Returns whether it ended with a
    /// newline, or `None` at the end of the file.
    fn read(&mut self, source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
        let mut length = 0_u64;
        loop {
            let bytes = match source.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok((length > 0).then_some(false));
            }
            let newline = memchr::memchr(b'\n', bytes);
            let taken = newline.map_or(bytes.len(), |at| at + 1);
            self.chain.absorb(&bytes[..taken]);
            line.extend_from_slice(&bytes[..taken.min(KEPT.saturating_sub(line.len()))]);
            length += taken as u64;
            source.consume(taken);
            if newline.is_some() {
                return Ok(Some(true));
            }
        }
    }

    fn finish(self) -> Integrity {
        match self.head {
            Some(head) => Integrity::Intact { lines: self.number, head, original: self.original },
            None if !self.is_chained => Integrity::Unchecked,
            None => Integrity::CutOff { line: self.number },
        }
    }
}

/// The first bytes of a `meta` line, as the encoder writes it.
const META: &[u8] = b"{\"v\":1,\"type\":\"meta\"";

/// The member of `meta` that announces check values, as the encoder writes it.
const CHAINED_META: &[u8] = b"\"chain\":\"sha256\"";

/// Whether a line is the last one of a file that the recorder ended.
fn is_last(line: &[u8]) -> bool {
    let near = &line[..line.len().min(64)];
    [&b"\"type\":\"end\""[..], b"\"type\":\"rotated\""]
        .iter()
        .any(|kind| memchr::memmem::find(near, kind).is_some())
}

/// In bytes. This near to the beginning of a line, nothing comes from a peer: a payload could contain a fake check value.
const NEAR: usize = 192;

/// The value after a mark near the beginning of a line.
fn value_after<'a>(line: &'a [u8], mark: &[u8], length: usize) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(&line[..line.len().min(NEAR)], mark)? + mark.len();
    line.get(at..at + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Encoder, LineEnd, Meta, Moment};
    use crate::message::Direction;
    use proptest::prelude::*;

    /// A file of `messages` messages, as a recorder writes it.
    fn file(messages: u64) -> Vec<u8> {
        let mut encoder = Encoder::chained();
        let mut out = Vec::new();
        let at = |us| Moment { wall_ms: 1_778_626_800_123, us };
        encoder.meta(&mut out, at(0), &Meta { label: "x".into(), ..Meta::default() });
        for number in 1..=messages {
            let raw = format!("{{\"id\":{number},\"method\":\"ping\"}}");
            let context = crate::format::Context::default();
            if number % 2 == 0 {
                encoder.message(&mut out, at(number), Direction::ClientToServer, context, raw.as_bytes());
            } else {
                encoder.message_head(&mut out, at(number), Direction::ClientToServer, context);
                out.extend_from_slice(raw.as_bytes());
                out.extend_from_slice(Encoder::MESSAGE_TAIL);
                encoder.absorb_payload(raw.as_bytes());
            }
        }
        encoder.end(&mut out, at(99), &LineEnd::default());
        out
    }

    fn check(bytes: &[u8]) -> Integrity {
        check_integrity(bytes).expect("memory can be read")
    }

    fn edited(number: usize, edit: impl FnOnce(&mut Vec<Vec<u8>>, usize)) -> Integrity {
        let mut lines: Vec<Vec<u8>> =
            file(9).split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        edit(&mut lines, number - 1);
        check(&lines.concat())
    }

    #[test]
    fn what_was_written_is_intact() {
        let Integrity::Intact { lines, head, .. } = check(&file(9)) else { panic!("{:?}", check(&file(9))) };
        assert_eq!((lines, head.len()), (11, 64));
        assert!(matches!(check(&file(0)), Integrity::Intact { lines: 2, .. }));
    }

    #[test]
    fn a_change_is_found_at_its_line() {
        let flip = |lines: &mut Vec<Vec<u8>>, at: usize| {
            let last = lines[at].len() - 3;
            lines[at][last] ^= 1;
        };
        for line in [1, 2, 5, 10, 11] {
            assert_eq!(edited(line, flip), Integrity::Modified { line: line as u64 }, "line {line}");
        }
        assert_eq!(edited(5, |lines, at| drop(lines.remove(at))), Integrity::Modified { line: 4 });
        assert_eq!(
            edited(5, |lines, at| lines.insert(at, lines[at].clone())),
            Integrity::Modified { line: 5 }
        );
        assert_eq!(edited(11, |lines, at| lines.push(lines[at].clone())), Integrity::Modified { line: 12 });
    }

    #[test]
    fn a_file_without_its_end_was_cut_off() {
        assert_eq!(edited(11, |lines, at| drop(lines.remove(at))), Integrity::CutOff { line: 10 });
        assert_eq!(edited(11, |lines, at| lines[at].truncate(20)), Integrity::CutOff { line: 10 });
        assert_eq!(
            edited(11, |lines, at| {
                lines[at].pop();
            }),
            Integrity::CutOff { line: 10 }
        );
    }

    #[test]
    fn files_of_other_programs_can_not_be_checked() {
        assert_eq!(check(b""), Integrity::Unchecked);
        assert_eq!(
            check(b"{\"v\":1,\"type\":\"meta\"}\n{\"dir\":\"in\",\"raw\":{}}\n"),
            Integrity::Unchecked
        );
    }

    /// A copy in which each `ping` is `pong!`.
    fn copied(bytes: &[u8]) -> Vec<u8> {
        replaced(bytes, "ping", "pong!")
    }

    fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
        let mut chain = CopyChain::default();
        let mut out = Vec::new();
        for line in bytes.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n') {
            let changed = String::from_utf8_lossy(line).replace(from, to);
            chain.push_line(&mut out, line, changed.as_bytes());
        }
        out
    }

    #[test]
    fn a_copy_has_check_values_of_its_own() {
        let copy = copied(&file(9));
        assert!(matches!(check(&copy), Integrity::Intact { lines: 11, .. }), "{:?}", check(&copy));
        assert!(String::from_utf8(copy).unwrap().contains("pong!"));
        let original = file(9);
        assert_eq!(copied(b"{\"t\":\"x\",\"raw\":{}}\n"), b"{\"t\":\"x\",\"raw\":{}}\n");
        // Cut off before its last line.
        let lines: Vec<&[u8]> = original.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(check(&copied(&lines[..7].concat())), Integrity::CutOff { line: 7 });
    }

    #[test]
    fn a_copy_names_the_head_of_the_original() {
        let heads = |bytes: &[u8]| match check(bytes) {
            Integrity::Intact { head, original, .. } => (head, original),
            other => panic!("{other:?}"),
        };
        let recorded = file(9);
        let (head, none) = heads(&recorded);
        assert_eq!(none, None);
        let copy = copied(&recorded);
        assert_eq!(heads(&copy).1.as_ref(), Some(&head));
        assert_eq!(copied(&copy), copy, "a copy without changes is the same file");
        let second = replaced(&copy, "pong!", "done");
        assert_eq!(heads(&second).1, Some(head), "a copy of a copy names the recording");
        assert_eq!(second.windows(ORIGINAL.len()).filter(|window| *window == ORIGINAL).count(), 1);
        let unchanged = file(0);
        assert_eq!(copied(&unchanged), unchanged);
        let last = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().to_vec();
        assert_eq!(Chain::original_in(&last(&recorded)), None);
        assert_eq!(Chain::original_in(b"{\"original\":\"x\",\"sha256\":\"y\"}"), None);
    }

    #[test]
    fn a_copy_does_not_hide_that_the_original_was_modified() {
        let original = file(9);
        let lines: Vec<Vec<u8>> =
            original.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        for line in 0..lines.len() {
            let mut lines = lines.clone();
            let last = lines[line].len() - 3;
            lines[line][last] ^= 1;
            let edited = lines.concat();
            assert_eq!(check(&copied(&edited)), check(&edited), "line {}", line + 1);
        }
        let mut appended = lines.clone();
        appended.push(lines[10].clone());
        assert_eq!(check(&copied(&appended.concat())), Integrity::Modified { line: 12 });
    }

    proptest! {
        #[test]
        fn no_changed_byte_goes_unnoticed(at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let mut bytes = file(6);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let is_intact = matches!(check(&bytes), Integrity::Intact { .. });
            prop_assert!(!is_intact);
        }
    }
}
