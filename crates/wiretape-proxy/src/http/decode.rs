//! Decoding of content encodings, for the recording and for rewriting widgets' policies; all other bodies are
//! forwarded encoded.
//!
//! Push-based decoders, because a body arrives in chunks and an event must be recorded as soon as its bytes are
//! there: a reader would block for more.

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use std::io::{self, Write};

/// A streaming decoder for a content encoding.
pub(crate) struct Decoder {
    codec: Codec,
}

enum Codec {
    Gzip(Box<MultiGzDecoder<LimitedBuffer>>),
    Deflate(Box<ZlibDecoder<LimitedBuffer>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<LimitedBuffer>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, LimitedBuffer>>),
}

impl Decoder {
    /// A decoder for an encoding, if it is supported. Decodes at most `limit` bytes, as protection against decompression bombs.
    pub(crate) fn new(encoding: &str, limit: usize) -> Option<Self> {
        const BROTLI_BUFFER: usize = 4096;
        let room = LimitedBuffer { bytes: Vec::new(), left: limit };
        let codec = match encoding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Codec::Gzip(Box::new(MultiGzDecoder::new(room))),
            "deflate" => Codec::Deflate(Box::new(ZlibDecoder::new(room))),
            "br" => {
                let decoder = brotli_decompressor::DecompressorWriter::new(room, BROTLI_BUFFER);
                Codec::Brotli(Box::new(decoder))
            }
            "zstd" => Codec::Zstd(Box::new(zstd::stream::write::Decoder::new(room).ok()?)),
            _ => return None,
        };
        Some(Decoder { codec })
    }

    /// Takes the next encoded bytes and returns what they decode to.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let room = match &mut self.codec {
            Codec::Gzip(codec) => {
                codec.write_all(bytes)?;
                // Without the flush, decoders hold back output until their buffers are full, and an event would be
                // recorded late.
                codec.flush()?;
                codec.get_mut()
            }
            Codec::Deflate(codec) => {
                codec.write_all(bytes)?;
                codec.flush()?;
                codec.get_mut()
            }
            Codec::Brotli(codec) => {
                codec.write_all(bytes)?;
                codec.flush()?;
                codec.get_mut()
            }
            Codec::Zstd(codec) => {
                codec.write_all(bytes)?;
                codec.flush()?;
                codec.get_mut()
            }
        };
        Ok(std::mem::take(&mut room.bytes))
    }
}

/// A buffer for decoded bytes with a limit on their total.
struct LimitedBuffer {
    bytes: Vec<u8>,
    left: usize,
}

impl Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An error instead of a short write, which `write_all` would retry for ever.
        if bytes.len() > self.left {
            return Err(io::Error::other("the decoded body is too large to be recorded"));
        }
        self.left -= bytes.len();
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

    #[test]
    fn a_bomb_is_left_alone() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(Decoder::new("gzip", 1000).unwrap().push(&bomb).is_err());
    }
}
