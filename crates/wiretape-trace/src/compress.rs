//! Compressed traces, read and written like plain ones.
//!
//! The format is recognized by the first bytes, not by the name: names may be wrong. Decompression is
//! limited, because a trace may come from another program and decompress to more than the disk holds.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// The file is not compressed.
    None,
    /// gzip, one or more members: `.gz`.
    Gzip,
    /// Zstandard, one or more frames: `.zst`.
    Zstd,
}

impl Compression {
    // The default of the `zstd` program.
    const ZSTD_LEVEL: i32 = 3;

    /// The compression that a file's name suggests.
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The compression that a file's first bytes show; four are enough.
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

/// How large a decompressed file may become. A file of 100 kB can hold gigabytes of zeros, which would fill
/// memory or disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecompressionLimits {
    /// The most decompressed bytes in total.
    pub total: u64,
    /// The most decompressed bytes per compressed byte.
    pub ratio: u64,
    /// The ratio is not checked below this many decompressed bytes: a small file that compresses well does no
    /// harm.
    pub free: u64,
}

impl Default for DecompressionLimits {
    fn default() -> Self {
        // Traces compress to between a fifth and a hundredth: each line has its own time and number.
        DecompressionLimits { total: 64 << 30, ratio: 1000, free: 64 << 20 }
    }
}

/// A file decompresses to more than [`DecompressionLimits`] allow. Wrapped in an [`io::Error`] of the kind
/// [`io::ErrorKind::FileTooLarge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// The total limit, in bytes, was exceeded.
    #[error("the file decompresses to more than {}", size(*.0))]
    Total(u64),
    /// The limit for the ratio was exceeded.
    #[error("the file decompresses to more than {0} times its size")]
    Ratio(u64),
}

/// A limit, for people: in MiB or GiB if it is a whole number of them.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes > 0 && bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
        bytes if bytes > 0 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes => format!("{bytes} bytes"),
    }
}

/// Reads `source`, decompressed if its first bytes are those of a compressed file. Decompression has the
/// default limits.
pub fn reader<'a>(source: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    reader_with_limits(source, DecompressionLimits::default())
}

/// Like [`reader`], with the given limits.
pub fn reader_with_limits<'a>(
    mut source: impl Read + Send + 'a,
    limits: DecompressionLimits,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut head = Vec::with_capacity(4);
    // A loop inside `read_to_end`, because a single `read` may return fewer than four bytes from a pipe.
    source.by_ref().take(4).read_to_end(&mut head)?;
    let compression = Compression::of_magic(&head);
    let whole = io::Cursor::new(head).chain(source);
    if compression == Compression::None {
        return Ok(Box::new(whole));
    }
    let consumed = Arc::new(AtomicU64::new(0));
    let counted = CountingReader { source: whole, consumed: Arc::clone(&consumed) };
    let decoder: Box<dyn Read + Send + 'a> = match compression {
        // A gzip file may have several members, as `cat a.gz b.gz` makes it; the plain decoder stops after
        // the first.
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(counted)),
        _ => Box::new(zstd::Decoder::new(counted)?),
    };
    Ok(Box::new(LimitedDecoder { decoder, consumed, produced: 0, limits }))
}

/// Counts the bytes read, for the ratio.
struct CountingReader<R> {
    source: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.consumed.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Fails once a decoder exceeds the limits.
struct LimitedDecoder<'a> {
    decoder: Box<dyn Read + Send + 'a>,
    consumed: Arc<AtomicU64>,
    produced: u64,
    limits: DecompressionLimits,
}

impl LimitedDecoder<'_> {
    fn check(&self) -> Result<(), TooLarge> {
        let DecompressionLimits { total, ratio, free } = self.limits;
        if self.produced > total {
            return Err(TooLarge::Total(total));
        }
        let consumed = self.consumed.load(Ordering::Relaxed);
        if self.produced > free && self.produced > consumed.saturating_mul(ratio) {
            return Err(TooLarge::Ratio(ratio));
        }
        Ok(())
    }
}

impl Read for LimitedDecoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Checked before decoding, so that the limit is exceeded by one buffer at most.
        self.check().map_err(|error| io::Error::new(io::ErrorKind::FileTooLarge, error))?;
        let read = self.decoder.read(buffer)?;
        self.produced += read as u64;
        Ok(read)
    }
}

/// A sink that compresses what is written to it. Without `finish`, the file is truncated.
pub enum Compressor<W: Write> {
    /// Passes bytes through unchanged.
    None(W),
    /// Compresses with gzip at its default level.
    Gzip(flate2::write::GzEncoder<W>),
    /// Compresses with zstd at its default level.
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    /// A compressor in front of `sink`.
    pub fn new(sink: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Compressor::None(sink),
            Compression::Gzip => {
                Compressor::Gzip(flate2::write::GzEncoder::new(sink, flate2::Compression::default()))
            }
            Compression::Zstd => Compressor::Zstd(zstd::Encoder::new(sink, Compression::ZSTD_LEVEL)?),
        })
    }

    /// Writes the end of the compressed stream and returns the sink.
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
    fn a_file_that_decompresses_to_too_much_is_read_up_to_a_limit() {
        let mut sink = Compressor::new(Vec::new(), Compression::Zstd).unwrap();
        sink.write_all(b"{\"type\":\"a\"}\n").unwrap();
        for _ in 0..64 {
            sink.write_all(&[b'A'; 1 << 16]).unwrap();
        }
        let bomb = sink.finish().unwrap();
        assert!(bomb.len() < 4096, "{}", bomb.len());
        let check = |limits: DecompressionLimits, expected: &str| {
            let mut reader = TraceReader::new(reader_with_limits(&bomb[..], limits).unwrap());
            assert!(reader.next_line().unwrap().is_some());
            assert!(reader.next_line().unwrap().is_none());
            assert_eq!(reader.notices()[2].to_string(), expected);
        };
        check(
            DecompressionLimits { total: 1 << 20, ratio: 1_000_000, free: 1 << 20 },
            "after line 1: the file decompresses to more than 1 MiB; the rest was not read",
        );
        check(
            DecompressionLimits { total: 1 << 30, ratio: 100, free: 1 << 20 },
            "after line 1: the file decompresses to more than 100 times its size; the rest was not read",
        );
    }

    #[test]
    fn names_tell_how_to_write() {
        assert_eq!(Compression::of_path(Path::new("a.jsonl.zst")), Compression::Zstd);
        assert_eq!(Compression::of_path(Path::new("a.jsonl")), Compression::None);
    }
}
