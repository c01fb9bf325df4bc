//! A trace's file: read once for its index, and then message by message, as they are wanted.

use crate::platform;
use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use wiretape_analyze::replay::{Matching, Payloads, Span, Tape, TapeBuilder};
use wiretape_trace::compress::{Compression, reader};
use wiretape_trace::format::{Line, Notice, ReadError, TraceReader};

/// A trace can't be played.
#[derive(Debug, thiserror::Error)]
pub enum DeckError {
    /// It can't be opened.
    #[error("can't open {}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can't be read on.
    #[error("can't read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// It never ends: a pipe, a device.
    #[error("{} is not a file: a trace is read once from end to end, and then here and there", path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
    },
}

/// The files of a tape, one after the other.
#[derive(Debug)]
pub struct TapeFile {
    parts: Vec<Part>,
    len: u64,
}

#[derive(Debug)]
struct Part {
    file: File,
    /// Where it begins in the whole.
    start: u64,
}

/// What reading a trace has brought.
#[derive(Debug)]
pub(super) struct Indexed {
    pub(super) tape: Tape,
    pub(super) file: TapeFile,
    /// What is odd about it, with the path of its part.
    pub(super) notices: Vec<(PathBuf, Notice)>,
}

impl TapeFile {
    /// Reads recordings, each in its parts.
    pub(super) fn index(recordings: &[Vec<PathBuf>], matching: &Matching) -> Result<Indexed, DeckError> {
        let mut builder = TapeBuilder::new(matching);
        let (mut file, mut notices) = (TapeFile { parts: Vec::new(), len: 0 }, Vec::new());
        for recording in recordings {
            for path in recording {
                notices.extend(
                    file.add(path, u64::MAX, &mut builder)?.into_iter().map(|notice| (path.clone(), notice)),
                );
            }
            builder.next_trace();
        }
        Ok(Indexed { tape: builder.finish(), file, notices })
    }

    /// Reads the beginning of a trace, up to so many bytes.
    pub(super) fn beginning(path: &Path, limit: u64, matching: &Matching) -> Result<Indexed, DeckError> {
        let mut builder = TapeBuilder::new(matching);
        let mut file = TapeFile { parts: Vec::new(), len: 0 };
        file.add(path, limit, &mut builder)?;
        Ok(Indexed { tape: builder.finish(), file, notices: Vec::new() })
    }

    /// Reads one more file, up to so many bytes. Returns what is odd about it.
    fn add(
        &mut self,
        path: &Path,
        limit: u64,
        builder: &mut TapeBuilder<'_>,
    ) -> Result<Vec<Notice>, DeckError> {
        let (file, len) = open(path)?;
        let len = len.min(limit);
        let start = self.len;
        // What is written to it from now on is left alone.
        let mut trace = TraceReader::unseen((&file).take(len));
        loop {
            let line =
                trace.next_line().map_err(|source| DeckError::Read { path: path.to_owned(), source })?;
            let Some(line) = line else { break };
            builder.observe(&Line { offset: start + line.offset, ..line });
        }
        let notices = trace.notices().to_vec();
        self.parts.push(Part { file, start });
        self.len += len;
        Ok(notices)
    }
}

/// Opens a trace at its beginning, and tells how long it is. One that is compressed is unpacked into a file that only we
/// see, for nothing can be read from the middle of it.
fn open(path: &Path) -> Result<(File, u64), DeckError> {
    let failed = |source| DeckError::Open { path: path.to_owned(), source };
    // Before it is opened: a pipe that nobody writes to would never be.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(DeckError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut magic = [0; 4];
    let is_compressed = platform::read_exact_at(&file, &mut magic, 0).is_ok()
        && Compression::of_magic(&magic) != Compression::None;
    if is_compressed { unpack(file).map_err(failed) } else { Ok((file, metadata.len())) }
}

fn unpack(file: File) -> io::Result<(File, u64)> {
    let mut unpacked = tempfile::tempfile()?;
    let mut source = reader(file)?;
    let mut chunk = vec![0; 256 * 1024];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => unpacked.write_all(&chunk[..n])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It is cut off: what came before can be played.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    let len = unpacked.stream_position()?;
    unpacked.rewind()?;
    Ok((unpacked, len))
}

impl Payloads for TapeFile {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let after = self.parts.partition_point(|part| part.start <= span.offset);
        let part =
            after.checked_sub(1).and_then(|at| self.parts.get(at)).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.clear();
        into.resize(span.len as usize, 0);
        platform::read_exact_at(&part.file, into, span.offset - part.start)
    }
}
