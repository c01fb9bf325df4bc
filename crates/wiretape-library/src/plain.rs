//! The plain bytes of a trace, for random access.
//!
//! A compressed trace can't be read from the middle, so it is unpacked first, into an unnamed temporary file:
//! the system removes it with the process, however that ends.

use crate::open::TraceFileError;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use wiretape_trace::compress::{self, Compression};
use wiretape_trace::format::MAX_LINE;

/// A trace that can be read from the middle.
#[derive(Debug)]
pub struct PlainTrace {
    file: Arc<File>,
    origin: Origin,
    /// Why a compressed trace could be unpacked only in part.
    cut: Option<UnpackError>,
}

/// The error that ended unpacking. Readers get it at the end of the plain bytes, as if they had decompressed themselves.
#[derive(Debug, Clone)]
struct UnpackError {
    kind: io::ErrorKind,
    message: Arc<str>,
}

/// Where the plain bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// In the trace's own file, which may still grow.
    Itself,
    /// In an unnamed temporary file.
    Unpacked,
}

impl PlainTrace {
    /// Opens a trace; a compressed one is unpacked. Pipes and devices are refused.
    pub fn open(path: &Path) -> Result<Self, TraceFileError> {
        let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
        // Checked before opening, because opening a pipe blocks until there is a writer.
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(TraceFileError::NotAFile { path: path.to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        if is_compressed(&file) {
            let (file, cut) = unpack(file).map_err(failed)?;
            return Ok(PlainTrace { file: Arc::new(file), origin: Origin::Unpacked, cut });
        }
        Ok(PlainTrace { file: Arc::new(file), origin: Origin::Itself, cut: None })
    }

    /// A file of the caller's that contains a whole, uncompressed trace.
    pub fn of_file(file: File) -> Self {
        PlainTrace { file: Arc::new(file), origin: Origin::Unpacked, cut: None }
    }

    /// A reader from the beginning, independent of all others.
    pub fn reader(&self) -> PlainReader {
        self.reader_up_to(u64::MAX)
    }

    /// A reader from the beginning up to the offset `end`.
    pub fn reader_up_to(&self, end: u64) -> PlainReader {
        // The error comes after the last plain byte, so a reader that stops before it doesn't get it.
        let cut = self.cut.clone().filter(|_| end >= self.len());
        PlainReader { file: Arc::clone(&self.file), offset: 0, end, cut }
    }

    /// Whether the file may still grow.
    pub fn may_grow(&self) -> bool {
        self.origin == Origin::Itself
    }

    /// The current length in bytes.
    pub fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Whether there are no bytes yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` with the bytes at `offset`; fails if there are fewer.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match read_at(&self.file, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The bytes of a span: at most `most`, at most the length of the longest line, and fewer at the end of
    /// the file.
    pub fn read_span(&self, span: Range<u64>, most: u64) -> io::Result<Vec<u8>> {
        let length = span.end.saturating_sub(span.start).min(most).min(MAX_LINE as u64);
        let mut bytes = Vec::new();
        let end = span.start.saturating_add(length);
        let mut reader = PlainReader { file: Arc::clone(&self.file), offset: span.start, end, cut: None };
        reader.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Reads a [`PlainTrace`] sequentially. It has its own offset and uses positioned reads, so that many readers
/// can share the file.
#[derive(Debug)]
pub struct PlainReader {
    file: Arc<File>,
    offset: u64,
    end: u64,
    cut: Option<UnpackError>,
}

impl Read for PlainReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let read = read_at(&self.file, &mut buffer[..length], self.offset)?;
        self.offset += read as u64;
        // Once only: a caller that ignores the error gets an ordinary end of file.
        match self.cut.take_if(|_| read == 0 && !buffer.is_empty()) {
            Some(cut) => Err(io::Error::new(cut.kind, cut.message.to_string())),
            None => Ok(read),
        }
    }
}

#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

fn is_compressed(file: &File) -> bool {
    let mut magic = [0; 4];
    matches!(read_at(file, &mut magic, 0), Ok(4)) && Compression::of_magic(&magic) != Compression::None
}

/// Unpacks a file. If it is cut off or decompresses to too much, what could be unpacked is kept, with the
/// error.
fn unpack(file: File) -> io::Result<(File, Option<UnpackError>)> {
    let mut unpacked = tempfile::tempfile()?;
    let mut source = compress::reader(file)?;
    let mut chunk = vec![0; 256 * 1024];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok((unpacked, None)),
            Ok(n) => unpacked.write_all(&chunk[..n])?,
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                kind @ (io::ErrorKind::UnexpectedEof | io::ErrorKind::FileTooLarge) => {
                    return Ok((unpacked, Some(UnpackError { kind, message: error.to_string().into() })));
                }
                _ => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_traces_are_read_from_the_middle() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"one\ntwo\r\nthree").expect("memory");
        let mut packed = packed.finish().expect("memory");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl.gz");
        for cut in [0, 3] {
            packed.truncate(packed.len() - cut);
            std::fs::write(&path, &packed).expect("a file");
            let trace = PlainTrace::open(&path).expect("a trace");
            assert_eq!(trace.read_span(4..7, 100).expect("bytes"), b"two", "cut {cut}");
            assert_eq!(trace.read_span(4..7, 2).expect("bytes"), b"tw", "cut {cut}");
            let mut exact = [0; 3];
            trace.read_exact_at(&mut exact, 0).expect("bytes");
            assert_eq!(&exact, b"one");
            assert!(!trace.may_grow());
        }
    }

    #[test]
    fn a_growing_trace_is_read_on() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl");
        let mut file = crate::private::create_file(&path).expect("a file");
        let trace = PlainTrace::open(&path).expect("a trace");
        assert!(trace.may_grow() && trace.is_empty());
        let mut reader = trace.reader();
        let mut read = |expected: &[u8]| {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).expect("bytes");
            assert_eq!(bytes, expected);
        };
        read(b"");
        file.write_all(b"one\n").expect("written");
        read(b"one\n");
        file.write_all(b"two\n").expect("written");
        read(b"two\n");
        assert!(trace.read_exact_at(&mut [0; 9], 0).is_err());
    }

    #[test]
    fn what_is_not_a_file_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(matches!(PlainTrace::open(dir.path()), Err(TraceFileError::Open { .. })));
        #[cfg(unix)]
        assert!(matches!(PlainTrace::open(Path::new("/dev/null")), Err(TraceFileError::NotAFile { .. })));
    }
}
