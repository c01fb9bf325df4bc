//! The bytes of a trace, wherever they are asked for.
//!
//! A compressed trace can't be read from the middle, so that it is unpacked to a file of its own first.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::NamedTempFile;
use wiretape_trace::compress;

/// A trace's file.
#[derive(Debug)]
pub(crate) struct Source {
    /// As the user knows it.
    pub(crate) path: PathBuf,
    file: Mutex<File>,
    /// Where the plain lines are, if that is elsewhere.
    unpacked: Option<NamedTempFile>,
}

impl Source {
    /// Opens a trace; one that is compressed is unpacked.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut head = Vec::new();
        file.by_ref().take(4).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        if !compress::is_compressed(&head) {
            return Ok(Source { path: path.to_owned(), file: Mutex::new(file), unpacked: None });
        }
        let unpacked = unpack(file)?;
        let file = unpacked.reopen()?;
        Ok(Source { path: path.to_owned(), file: Mutex::new(file), unpacked: Some(unpacked) })
    }

    /// A second handle, to read it from the beginning.
    pub(crate) fn reader(&self) -> io::Result<File> {
        match &self.unpacked {
            Some(unpacked) => unpacked.reopen(),
            None => File::open(&self.path),
        }
    }

    /// Whether the file may still grow.
    pub(crate) fn may_grow(&self) -> bool {
        self.unpacked.is_none()
    }

    /// How many bytes there are.
    pub(crate) fn length(&self) -> u64 {
        let path = self.unpacked.as_ref().map_or(self.path.as_path(), |unpacked| unpacked.path());
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    }

    /// The bytes of a span, but no more than `most`.
    pub(crate) fn read(&self, span: Range<u64>, most: u64) -> io::Result<Vec<u8>> {
        let length = span.end.saturating_sub(span.start).min(most);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(span.start))?;
        file.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The plain bytes, in a file that goes away with the program. Of a file that is cut off, those that are there.
fn unpack(file: File) -> io::Result<NamedTempFile> {
    let mut unpacked = NamedTempFile::with_prefix("wiretape-")?;
    let mut reader = compress::reader(file)?;
    match io::copy(&mut reader, &mut unpacked) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(unpacked),
    }
}

/// A line without what ends it.
pub(crate) fn trim_line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn compressed_traces_are_read_from_the_middle() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"one\ntwo\r\nthree").unwrap();
        let mut packed = packed.finish().unwrap();
        for cut in [0, 3] {
            packed.truncate(packed.len() - cut);
            let mut file = NamedTempFile::new().unwrap();
            file.write_all(&packed).unwrap();
            let source = Source::open(file.path()).unwrap();
            assert_eq!(trim_line(&source.read(4..9, 100).unwrap()), b"two", "cut {cut}");
        }
    }
}
