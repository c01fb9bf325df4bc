//! Opening traces, with decompression where needed, and reading their first and last lines.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use wiretape_analyze::summary::{Ending, started_at};
use wiretape_trace::compress;
use wiretape_trace::format::{
    Integrity, Line, Meta, Notice, ReadError, Record, TraceReader, check_integrity, parse_line,
};

/// A reader of a trace file that decompresses where needed.
pub type FileReader = TraceReader<Box<dyn Read + Send>>;

/// Why a file could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// The file can't be opened.
    #[error("can't open {}", path.display())]
    Open {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Reading failed in the middle.
    #[error("can't read {}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The last line that could be read, and the system's reason.
        source: ReadError,
    },
    /// A pipe or a device, where a trace has to be read from the middle.
    #[error("{} is not a regular file, and this command needs random access", path.display())]
    NotAFile {
        /// The pipe or device.
        path: PathBuf,
    },
    /// The file is empty.
    #[error("{} is empty: nothing was recorded", path.display())]
    Empty {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file has less than a line.
    #[error("{} has no complete line: the recorder was stopped immediately", path.display())]
    NoWholeLine {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file holds something else.
    #[error("{} is not a trace: line {line} {what}", path.display())]
    NotATrace {
        /// The path of the file.
        path: PathBuf,
        /// The first line that can't be from a trace.
        line: u64,
        /// What is wrong with that line.
        what: String,
    },
}

/// Opens a trace, to read it to its end.
pub fn open(path: &Path) -> Result<FileReader, TraceFileError> {
    open_with(path, |file, _| Box::new(file))
}

/// Opens a trace like [`open()`], with a reader around the file that the caller supplies, for example to show
/// progress. It gets the file's length.
pub fn open_with(
    path: &Path,
    wrap: impl FnOnce(File, u64) -> Box<dyn Read + Send>,
) -> Result<FileReader, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let file = open_file(path)?;
    let length = file.metadata().map_err(failed)?.len();
    Ok(TraceReader::new(compress::reader(wrap(file, length)).map_err(failed)?))
}

/// What the check values of a trace say; see [`check_integrity`].
pub fn integrity(path: &Path) -> Result<Integrity, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let source = compress::reader(open_file(path)?).map_err(failed)?;
    check_integrity(BufReader::with_capacity(1 << 16, source)).map_err(failed)
}

/// Opens a trace that is still growing.
pub fn follow(path: &Path) -> Result<FileReader, TraceFileError> {
    let source = compress::reader(open_file(path)?);
    let source = source.map_err(|source| TraceFileError::Open { path: path.to_owned(), source })?;
    Ok(TraceReader::following(source))
}

/// Opens a file. Directories are refused here, because Unix opens them and fails only on reading.
fn open_file(path: &Path) -> Result<File, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(file)
}

/// Reads the next line of a trace.
pub fn next_line<'r>(reader: &'r mut FileReader, path: &Path) -> Result<Option<Line<'r>>, TraceFileError> {
    reader.next_line().map_err(|source| TraceFileError::Read { path: path.to_owned(), source })
}

/// What a trace's first lines say.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Its `meta`, if it has one.
    pub meta: Option<Meta>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: Option<i64>,
}

/// Whether a trace is the part that follows `before`. A call may begin in one part and end in the next.
pub fn goes_on(head: &Head, before: &Path) -> bool {
    let previous = head.meta.as_ref().and_then(|meta| meta.part.as_ref()).map(|part| part.previous.as_str());
    previous.is_some() && previous == before.file_name().and_then(|name| name.to_str())
}

/// The number of invalid lines after which a file is not taken for a trace.
const STRANGE_LINES: u64 = 50;

/// The longest line that is read to find out what a file is. Listing a directory must stay cheap whatever is in it.
const HEAD_LINE: usize = 16 << 20;

/// How much of a file is decompressed to find out what it is.
const HEAD_BYTES: u64 = 64 << 20;

/// Reads the first lines of a trace.
pub fn head(path: &Path) -> Result<Head, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let source: Box<dyn Read + Send> =
        Box::new(compress::reader(SmallReads(open_file(path)?)).map_err(failed)?.take(HEAD_BYTES));
    let mut reader = TraceReader::new(source).with_line_limit(HEAD_LINE);
    let mut strange: Option<(u64, String)> = None;
    loop {
        let line =
            reader.next_line().map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
        let Some(line) = line else { break };
        match strangeness(line.bytes, &line.record) {
            None => return Ok(head_of(&line.record)),
            Some(what) => strange = strange.or(Some((line.number, what))),
        }
        if line.number >= STRANGE_LINES {
            break;
        }
    }
    let is_long =
        |notice: &Notice| matches!(notice, Notice::LongLine { .. } | Notice::DecompressionStopped { .. });
    // A file without a newline looks empty to the reader, but it is something else.
    if strange.is_none() && reader.notices().iter().any(is_long) {
        strange = Some((1, "is too long".to_owned()));
    }
    match strange {
        Some((line, what)) => Err(TraceFileError::NotATrace { path: path.to_owned(), line, what }),
        None if is_torn(&reader) => Err(TraceFileError::NoWholeLine { path: path.to_owned() }),
        None => Err(TraceFileError::Empty { path: path.to_owned() }),
    }
}

/// Limits the size of reads. Only the first line is wanted, of a file that may be large.
struct SmallReads(File);

impl Read for SmallReads {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(16 << 10);
        self.0.read(&mut buffer[..length])
    }
}

fn is_torn(reader: &FileReader) -> bool {
    reader.notices().iter().any(|notice| matches!(notice, Notice::TornLine { .. }))
}

/// Why a line can't be from a trace; `None` if it can.
fn strangeness(bytes: &[u8], record: &Record<'_>) -> Option<String> {
    match record {
        Record::Damaged(error) if error.offset == HEAD_LINE => Some("is too long".to_owned()),
        Record::Damaged(_) if bytes.trim_ascii().is_empty() => Some("is blank".to_owned()),
        Record::Damaged(error) => {
            Some(format!("is not a JSON object (byte {}: {})", error.offset, error.what))
        }
        Record::Unknown { type_name: None, .. } => Some("has neither `raw` nor `type`".to_owned()),
        _ => None,
    }
}

fn head_of(record: &Record<'_>) -> Head {
    match record {
        Record::Meta(meta) => Head { started_ms: started_at(meta), meta: Some((**meta).clone()) },
        Record::Message(message) => Head { meta: None, started_ms: message.stamp.wall_ms() },
        Record::Text(text) | Record::Stderr(text) => Head { meta: None, started_ms: text.stamp.wall_ms() },
        Record::Http(exchange) => Head { meta: None, started_ms: exchange.stamp.wall_ms() },
        Record::Unknown { stamp, .. } => Head { meta: None, started_ms: stamp.wall_ms() },
        _ => Head::default(),
    }
}

/// How a trace ends, according to its last line. A compressed trace has to be read completely for that.
pub fn ending(path: &Path) -> Result<Ending, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let tail = tail(path).map_err(failed)?;
    match tail {
        Some(bytes) => Ok(last_record_of(&bytes)),
        None => ending_by_reading(path),
    }
}

/// Whether a trace may continue: its last line is neither `end` nor `rotated`. A compressed one can't grow.
pub(crate) fn is_open(path: &Path) -> Result<bool, TraceFileError> {
    let tail = tail(path).map_err(|source| TraceFileError::Open { path: path.to_owned(), source })?;
    Ok(tail.is_some_and(|bytes| last_record_of(&bytes) == Ending::Missing))
}

/// The last bytes of a file; `None` if it is compressed.
fn tail(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // An `end` line fits into the first; a last line that doesn't fit into the second is a message.
    const TAILS: [u64; 2] = [4 * 1024, 64 * 1024];
    let mut file = File::open(path)?;
    let mut first = Vec::new();
    file.by_ref().take(1).read_to_end(&mut first)?;
    // The first bytes of gzip and Zstandard. A plain trace begins with `{`.
    if matches!(first[..], [0x1f | 0x28]) {
        return Ok(None);
    }
    let length = file.seek(SeekFrom::End(0))?;
    let mut bytes = Vec::new();
    for tail in TAILS {
        bytes.clear();
        file.seek(SeekFrom::Start(length.saturating_sub(tail)))?;
        file.by_ref().take(tail).read_to_end(&mut bytes)?;
        if bytes.trim_ascii_end().contains(&b'\n') {
            break;
        }
    }
    Ok(Some(bytes))
}

fn last_record_of(tail: &[u8]) -> Ending {
    let lines = tail.split(|&byte| byte == b'\n').rev().map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).map(parse_line).next().map_or(Ending::Missing, ending_of)
}

fn ending_of(record: Record<'_>) -> Ending {
    match record {
        Record::End(end) => Ending::End(end),
        Record::Rotated { next, .. } => Ending::Rotated { next },
        _ => Ending::Missing,
    }
}

fn ending_by_reading(path: &Path) -> Result<Ending, TraceFileError> {
    let mut reader = open(path)?;
    let mut ending = Ending::Missing;
    loop {
        let line =
            reader.next_line().map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
        let Some(line) = line else { return Ok(ending) };
        ending = ending_of(line.record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &[u8], expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, content).unwrap();
        let told = match head(&path) {
            Ok(head) => format!("{:?} {:?}", head.meta.map(|meta| meta.label), ending(&path).unwrap()),
            Err(error) => error.to_string().replace(&path.display().to_string(), "x"),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn a_first_look_tells_what_a_file_is() {
        check(b"", "x is empty: nothing was recorded");
        check(b"{\"v\":1,\"type\":\"me", "x has no complete line: the recorder was stopped immediately");
        check(b"hello\nworld\n", "x is not a trace: line 1 is not a JSON object (byte 0: expected a value)");
        check(b"{\"a\":1}\n", "x is not a trace: line 1 has neither `raw` nor `type`");
        check(b"\n{\"v\":1,\"type\":\"meta\",\"label\":\"l\"}\n", "Some(\"l\") Missing");
        check(b"{\"type\":\"rotated\",\"next\":\"b\"}\r\n", "None Rotated { next: \"b\" }");
    }
}
