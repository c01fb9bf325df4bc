//! Compressed traces, read and written as if they were plain.

use std::io::{self, Read, Write};
use std::path::Path;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl Compression {
    const ZSTD_LEVEL: i32 = 3;

    /// What a file's name says.
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// What a file's first bytes say.
    pub fn of_magic(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// Whether the first bytes of a file are those of a compressed one.
pub fn is_compressed(head: &[u8]) -> bool {
    Compression::of_magic(head) != Compression::None
}

/// Reads `source` as it is or decompressed, as its first bytes tell: a file's name may lie.
pub fn reader<'a>(mut source: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut head = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut head)?;
    let compression = Compression::of_magic(&head);
    let whole = io::Cursor::new(head).chain(source);
    Ok(match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        Compression::Zstd => Box::new(zstd::Decoder::new(whole)?),
    })
}

/// A sink that compresses what it is given. `finish` writes what is left; without it the file is cut off.
pub enum Compressor<W: Write> {
    /// Passes bytes on as they are.
    None(W),
    /// Compresses with gzip.
    Gzip(flate2::write::GzEncoder<W>),
    /// Compresses with zstd.
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    /// Compresses into `sink`.
    pub fn new(sink: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Compressor::None(sink),
            Compression::Gzip => {
                Compressor::Gzip(flate2::write::GzEncoder::new(sink, flate2::Compression::default()))
            }
            Compression::Zstd => Compressor::Zstd(zstd::Encoder::new(sink, Compression::ZSTD_LEVEL)?),
        })
    }

    /// Writes what is left and hands the sink back.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Compressor::None(mut sink) => sink.flush().map(|()| sink),
            Compressor::Gzip(encoder) => encoder.finish(),
            Compressor::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressor::None(sink) => sink.write(bytes),
            Compressor::Gzip(encoder) => encoder.write(bytes),
            Compressor::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressor::None(sink) => sink.flush(),
            Compressor::Gzip(encoder) => encoder.flush(),
            Compressor::Zstd(encoder) => encoder.flush(),
        }
    }
}

impl<W: Write> std::fmt::Debug for Compressor<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Compressor::None(_) => "Compressor::None",
            Compressor::Gzip(_) => "Compressor::Gzip",
            Compressor::Zstd(_) => "Compressor::Zstd",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{LineEnd, Meta, Moment, Notice, TraceReader, TraceWriter};
    use crate::message::Direction;

    fn trace(compression: Compression) -> Vec<u8> {
        let sink = Compressor::new(Vec::new(), compression).unwrap();
        let mut writer = TraceWriter::new(sink, Moment::default(), &Meta::default()).unwrap();
        for n in 0..5000 {
            let raw = format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{{\"n\":{}}}}}", n * 7919 % 4999);
            writer.message(Moment::default(), Direction::ServerToClient, raw.as_bytes()).unwrap();
        }
        writer.end(Moment::default(), &LineEnd::default()).unwrap().finish().unwrap()
    }

    fn read(bytes: &[u8]) -> (usize, Vec<Notice>) {
        let mut reader = TraceReader::new(reader(bytes).unwrap());
        let mut lines = 0;
        while reader.next_line().unwrap().is_some() {
            lines += 1;
        }
        (lines, reader.notices().to_vec())
    }

    #[test]
    fn compressed_traces_read_like_plain_ones() {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            assert_eq!(read(&trace(compression)), (5002, vec![]), "{compression:?}");
        }
    }

    #[test]
    fn a_cut_off_file_gives_what_it_has() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let whole = trace(compression);
            let (lines, notices) = read(&whole[..whole.len() / 2]);
            assert!(lines > 10, "{compression:?}: {lines}");
            assert!(matches!(notices[0], Notice::TruncatedCompression { .. }), "{notices:?}");
        }
    }

    #[test]
    fn names_tell_how_to_write() {
        assert_eq!(Compression::of_path(Path::new("a.jsonl.zst")), Compression::Zstd);
        assert_eq!(Compression::of_path(Path::new("a.jsonl")), Compression::None);
    }
}
