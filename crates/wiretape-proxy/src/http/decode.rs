//! Decoding of content encodings, for the recording and for rewriting widgets' policies; all other bodies are
//! forwarded encoded.
//!
//! Push-based decoders, because a body arrives in chunks and an event must be recorded as soon as its bytes are
//! there: a reader would block for more.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use std::io::{self, Write};

/// A streaming decoder for a content encoding.
pub(crate) struct Decoder {
    codec: Codec,
    /// The number of bytes that may still be decoded by [`Decoder::push`].
    left: usize,
}

enum Codec {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
    Brotli(Box<Brotli>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Vec<u8>>>),
}

/// What one step of a decoder did.
pub(crate) struct DecodedStep {
    /// The number of encoded bytes that were taken.
    pub(crate) taken: usize,
    pub(crate) decoded: Vec<u8>,
    /// Whether there is more to come from the bytes that were taken.
    pub(crate) has_more: bool,
}

impl Decoder {
    /// A decoder for an encoding, if it is supported. Decodes at most `limit` bytes, as protection against decompression bombs.
    pub(crate) fn new(encoding: &str, limit: usize) -> Option<Self> {
        let codec = match encoding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Codec::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Codec::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
            "br" => Codec::Brotli(Box::new(Brotli::new())),
            "zstd" => Codec::Zstd(Box::new(zstd::stream::write::Decoder::new(Vec::new()).ok()?)),
            _ => return None,
        };
        Some(Decoder { codec, left: limit })
    }

    /// Takes the next encoded bytes and returns what they decode to.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut rest = bytes;
        let mut all = Vec::new();
        loop {
            let step = self.step(rest)?;
            rest = &rest[step.taken..];
            self.left = self
                .left
                .checked_sub(step.decoded.len())
                .ok_or_else(|| io::Error::other("the decoded body is too large to be recorded"))?;
            if all.is_empty() {
                all = step.decoded;
            } else {
                all.extend_from_slice(&step.decoded);
            }
            if rest.is_empty() && !step.has_more {
                return Ok(all);
            }
        }
    }

    /// Takes some of the bytes and returns what they decode to: at most a few hundred kilobytes, whatever the bytes are, so that
    /// the caller can count and stop.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> io::Result<DecodedStep> {
        match &mut self.codec {
            Codec::Gzip(codec) => {
                let taken = write_some(&mut **codec, bytes)?;
                Ok(DecodedStep { taken, decoded: std::mem::take(codec.get_mut()), has_more: false })
            }
            Codec::Deflate(codec) => {
                let taken = write_some(&mut **codec, bytes)?;
                Ok(DecodedStep { taken, decoded: std::mem::take(codec.get_mut()), has_more: false })
            }
            Codec::Zstd(codec) => {
                let taken = write_some(&mut **codec, bytes)?;
                Ok(DecodedStep { taken, decoded: std::mem::take(codec.get_mut()), has_more: false })
            }
            Codec::Brotli(codec) => codec.step(bytes),
        }
    }
}

/// Writes once, which a decoder ends when its buffer of 32 to 128 KiB is full. `write_all` would end after all that a few bytes
/// expand to.
fn write_some(codec: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    let taken = codec.write(bytes)?;
    if taken == 0 && !bytes.is_empty() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    if taken == bytes.len() {
        // Without the flush, decoders hold back output until their buffers are full, and an event would be recorded late.
        codec.flush()?;
    }
    Ok(taken)
}

/// A brotli decoder. That of the library which implements `Write` has no limit on what it writes in one call.
struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    is_complete: bool,
}

impl Brotli {
    fn new() -> Self {
        let alloc = StandardAlloc::default;
        Brotli { state: BrotliState::new(alloc(), alloc(), alloc()), is_complete: false }
    }

    fn step(&mut self, bytes: &[u8]) -> io::Result<DecodedStep> {
        const OUTPUT: usize = 16 * 1024;
        if self.is_complete {
            // Bytes after the end mean nothing (RFC 7932, section 2).
            return Ok(DecodedStep { taken: bytes.len(), decoded: Vec::new(), has_more: false });
        }
        let mut decoded = vec![0; OUTPUT];
        let (mut left, mut taken, mut room, mut written, mut total) = (bytes.len(), 0, OUTPUT, 0, 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut taken,
            bytes,
            &mut room,
            &mut written,
            &mut decoded,
            &mut total,
            &mut self.state,
        );
        self.is_complete = matches!(result, BrotliResult::ResultSuccess);
        decoded.truncate(written);
        match result {
            BrotliResult::ResultFailure => Err(io::ErrorKind::InvalidData.into()),
            BrotliResult::NeedsMoreOutput => Ok(DecodedStep { taken, decoded, has_more: true }),
            BrotliResult::NeedsMoreInput | BrotliResult::ResultSuccess => {
                Ok(DecodedStep { taken: bytes.len(), decoded, has_more: false })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(encoding: &str, encoded: &[u8], step: usize) -> Vec<u8> {
        let mut decoder = Decoder::new(encoding, 1 << 20).unwrap();
        encoded.chunks(step).flat_map(|piece| decoder.push(piece).unwrap()).collect()
    }

    #[test]
    fn every_encoding_in_every_step() {
        let text = b"{\"jsonrpc\":\"2.0\"}".repeat(100);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(&text).unwrap();
        let encoded = [
            ("gzip", gzip(&text)),
            ("deflate", zlib.finish().unwrap()),
            ("zstd", zstd::encode_all(&text[..], 3).unwrap()),
            // "hello" as brotli leaves it, uncompressed.
            ("br", vec![0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03]),
        ];
        for (name, bytes) in &encoded {
            let expected: &[u8] = if *name == "br" { b"hello" } else { &text };
            for step in [1, 7, bytes.len()] {
                assert_eq!(decode(name, bytes, step), expected, "{name} by {step}");
            }
        }
        assert!(Decoder::new("gzip, br", 10).is_none());
    }

    #[test]
    fn what_is_flushed_can_be_read_at_once() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"data: 1\n\n").unwrap();
        encoder.flush().unwrap();
        let mut decoder = Decoder::new("gzip", 100).unwrap();
        assert_eq!(decoder.push(encoder.get_ref()).unwrap(), b"data: 1\n\n");
    }

    /// Ten megabytes of zeros, as zstd can write them in a few bytes, and brotli in fewer.
    #[test]
    fn a_step_is_small_whatever_it_is_made_of() {
        const LARGEST: usize = 512 * 1024;
        let zeros = vec![0; 10 << 20];
        // A stored byte, and a copy of it that is 16 MiB long at most, would need an encoder of brotli.
        for (name, bytes) in [("gzip", gzip(&zeros)), ("zstd", zstd::encode_all(&zeros[..], 3).unwrap())] {
            let mut decoder = Decoder::new(name, usize::MAX).unwrap();
            let (mut rest, mut total) = (&bytes[..], 0);
            while !rest.is_empty() {
                let step = decoder.step(rest).unwrap();
                assert!(step.decoded.len() <= LARGEST, "{name}: {}", step.decoded.len());
                total += step.decoded.len();
                rest = &rest[step.taken..];
            }
            assert_eq!(total, zeros.len(), "{name}");
        }
    }

    #[test]
    fn a_bomb_is_left_alone() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(Decoder::new("gzip", 1000).unwrap().push(&bomb).is_err());
    }
}
