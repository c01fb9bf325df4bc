//! Byte order marks, and sources in UTF-16, such as PowerShell's `>` writes them.
//!
//! Everything after this module works on UTF-8 bytes. Invalid UTF-8 passes through and is reported per
//! message, in `prepare`.

use std::io::{self, Cursor, Read};

/// Reads `source` as UTF-8, without a byte order mark. UTF-16 is recognized by its mark, or by NULs between
/// the first characters.
pub(super) fn reader<'a>(mut source: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut head = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut head)?;
    let (skip, wide) = match head[..] {
        [0xEF, 0xBB, 0xBF, ..] => (3, None),
        [0xFF, 0xFE, ..] => (2, Some(Order::Little)),
        [0xFE, 0xFF, ..] => (2, Some(Order::Big)),
        [1..=0x7F, 0, 1..=0x7F, 0] => (0, Some(Order::Little)),
        [0, 1..=0x7F, 0, 1..=0x7F] => (0, Some(Order::Big)),
        _ => (0, None),
    };
    let whole = Cursor::new(head.split_off(skip)).chain(source);
    Ok(match wide {
        None => Box::new(whole),
        Some(order) => {
            Box::new(Utf16Reader { source: whole, order, rest: Vec::new(), text: Cursor::default() })
        }
    })
}

/// The byte order of UTF-16.
#[derive(Debug, Clone, Copy)]
enum Order {
    Little,
    Big,
}

/// Decodes UTF-16 to UTF-8, chunk by chunk.
struct Utf16Reader<R> {
    source: R,
    order: Order,
    /// Bytes of an incomplete character at the end of a chunk.
    rest: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(out)?;
            if read > 0 || out.is_empty() || !self.refill()? {
                return Ok(read);
            }
        }
    }
}

impl<R: Read> Utf16Reader<R> {
    /// Decodes the next chunk. Returns false at the end.
    fn refill(&mut self) -> io::Result<bool> {
        const CHUNK: u64 = 64 * 1024;
        let before = self.rest.len();
        self.source.by_ref().take(CHUNK).read_to_end(&mut self.rest)?;
        let at_end = self.rest.len() == before;
        if at_end && self.rest.is_empty() {
            return Ok(false);
        }
        let mut units: Vec<u16> = self.rest.chunks_exact(2).map(|pair| self.order.unit(pair)).collect();
        let is_half = |unit: &u16| (0xD800..0xDC00).contains(unit);
        // The first half of a surrogate pair: the second is in the next chunk.
        if !at_end && units.last().is_some_and(is_half) {
            units.pop();
        }
        let used = if at_end { self.rest.len() } else { units.len() * 2 };
        let text: String =
            char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        self.rest.drain(..used);
        self.text = Cursor::new(text.into_bytes());
        Ok(true)
    }
}

impl Order {
    fn unit(self, pair: &[u8]) -> u16 {
        match self {
            Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
            Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        let mut text = String::new();
        reader(bytes).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, expected);
    }

    #[test]
    fn marks_and_wide_letters_are_read() {
        check(b"{}", "{}");
        check(b"", "");
        check(b"\xEF\xBB\xBF{}", "{}");
        let text = "{\"a\":\"Grüße 🦀\"}\n".repeat(9000);
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(&little, &text);
        check(&big, &text);
        check(&[b"\xFF\xFE", &little[..]].concat(), &text);
        check(&[b"\xFE\xFF", &big[..]].concat(), &text);
        check(b"\xFF\xFE{\0\x3E\xD8", "{\u{FFFD}");
    }
}
