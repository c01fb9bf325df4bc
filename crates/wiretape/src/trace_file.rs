//! Trace files: opening them, and telling what they are from a first look.

use crate::error::CommandError;
use crate::output;
use crate::text::printable;
use indicatif::ProgressBarIter;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use wiretape_analyze::reading::RecordingState;
use wiretape_analyze::summary::{Ending, started_at};
use wiretape_proxy::platform::{Liveness, liveness};
use wiretape_trace::compress;
use wiretape_trace::format::{Line, Meta, Notice, ReadError, Record, TraceReader, parse_line};

/// A reader of a file, decompressed where need be.
pub(crate) type FileReader = TraceReader<Box<dyn Read + Send>>;

/// A file could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceFileError {
    /// It can't be opened.
    #[error("can't open {}", path.display())]
    Open { path: PathBuf, source: io::Error },
    /// It can't be read on.
    #[error("can't read {}", path.display())]
    Read { path: PathBuf, source: ReadError },
    /// There is nothing in it.
    #[error("{} is empty: nothing was recorded", path.display())]
    Empty { path: PathBuf },
    /// There is less than a line in it.
    #[error("{} ends in its first line: the recorder was stopped at once", path.display())]
    NoWholeLine { path: PathBuf },
    /// There is something else in it.
    #[error("{} is not a trace: line {line} {what}", path.display())]
    NotATrace { path: PathBuf, line: u64, what: String },
}

impl From<TraceFileError> for CommandError {
    fn from(error: TraceFileError) -> Self {
        let hint = match &error {
            TraceFileError::NotATrace { .. } => Some(
                "a trace is a .jsonl, .jsonl.gz or .jsonl.zst file as `wiretape record` writes it; `wiretape ls` lists yours; `wiretape import` makes one of another program's transcript"
                    .to_owned(),
            ),
            TraceFileError::Open { path, source } if source.kind() == io::ErrorKind::IsADirectory => {
                Some(format!("`wiretape ls --dir {}` lists the traces in it", path.display()))
            }
            _ => None,
        };
        let error = CommandError::failure(error);
        hint.into_iter().fold(error, CommandError::hint)
    }
}

/// Reads a trace to its end.
pub(crate) fn open(path: &Path) -> Result<FileReader, TraceFileError> {
    Ok(TraceReader::new(source(path)?))
}

/// Reads a trace to its end, and tells on a terminal how far it is.
pub(crate) fn open_with_progress(path: &Path) -> Result<FileReader, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let file = regular(path)?;
    let length = file.metadata().map_err(failed)?.len();
    if length < WORTH_A_BAR {
        return Ok(TraceReader::new(compress::reader(file).map_err(failed)?));
    }
    let reader = Finishing(output::progress_bar(Some(length)).wrap_read(file));
    Ok(TraceReader::new(compress::reader(reader).map_err(failed)?))
}

/// What is read in less time than it takes to look.
const WORTH_A_BAR: u64 = 64 << 20;

/// Takes the bar away when there is nothing more to read.
struct Finishing(ProgressBarIter<File>);

impl Read for Finishing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if read == 0 {
            self.0.progress.finish_and_clear();
        }
        Ok(read)
    }
}

/// Reads a trace that is still growing.
pub(crate) fn follow(path: &Path) -> Result<FileReader, TraceFileError> {
    Ok(TraceReader::following(source(path)?))
}

fn source(path: &Path) -> Result<Box<dyn Read + Send>, TraceFileError> {
    let file = regular(path)?;
    compress::reader(file).map_err(|source| TraceFileError::Open { path: path.to_owned(), source })
}

/// Opens a file that is no directory.
fn regular(path: &Path) -> Result<File, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(file)
}

/// Tells what a command must know of a trace that it read: what is damaged, and what is missing.
pub(crate) fn tell_damage(path: &Path, reader: &FileReader) {
    for notice in reader.notices() {
        if matches!(
            notice,
            Notice::DamagedLine { .. }
                | Notice::TornLine { .. }
                | Notice::NewerVersion { .. }
                | Notice::TruncatedCompression { .. }
        ) {
            output::note(format!("{}: {notice}", printable(&path.display().to_string())));
        }
    }
}

/// Reads the next line of a trace.
pub(crate) fn next_line<'r>(
    reader: &'r mut FileReader,
    path: &Path,
) -> Result<Option<Line<'r>>, TraceFileError> {
    reader.next_line().map_err(|source| TraceFileError::Read { path: path.to_owned(), source })
}

/// What a trace's first lines say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    /// Its `meta`, if it has one.
    pub(crate) meta: Option<Meta>,
    /// When it began, in milliseconds since 1970.
    pub(crate) started_ms: Option<i64>,
}

/// Whether a trace is the part that follows another file: a call may begin in one and end in the other.
pub(crate) fn goes_on(head: &Head, before: &Path) -> bool {
    let previous = head.meta.as_ref().and_then(|meta| meta.part.as_ref()).map(|part| part.previous.as_str());
    previous.is_some() && previous == before.file_name().and_then(|name| name.to_str())
}

/// How many lines may be strange before a file is taken to be something else.
const STRANGE_LINES: u64 = 50;

/// Looks at a trace's first lines.
pub(crate) fn head(path: &Path) -> Result<Head, TraceFileError> {
    let mut reader = open(path)?;
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
    match strange {
        Some((line, what)) => Err(TraceFileError::NotATrace { path: path.to_owned(), line, what }),
        None if is_torn(&reader) => Err(TraceFileError::NoWholeLine { path: path.to_owned() }),
        None => Err(TraceFileError::Empty { path: path.to_owned() }),
    }
}

fn is_torn(reader: &FileReader) -> bool {
    reader.notices().iter().any(|notice| matches!(notice, Notice::TornLine { .. }))
}

/// Why a line can't be from a trace, if so.
fn strangeness(bytes: &[u8], record: &Record<'_>) -> Option<String> {
    match record {
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

/// How a trace ends, from a look at its last line. A compressed trace has to be read through for that.
pub(crate) fn ending(path: &Path) -> Result<Ending, TraceFileError> {
    let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
    let tail = tail(path).map_err(failed)?;
    match tail {
        Some(bytes) => Ok(last_record_of(&bytes)),
        None => ending_by_reading(path),
    }
}

/// The last bytes of a file; `None` if it is compressed.
fn tail(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // An `end` is far shorter; a longer last line is a message.
    const TAIL: u64 = 64 * 1024;
    let mut file = File::open(path)?;
    let mut first = Vec::new();
    file.by_ref().take(1).read_to_end(&mut first)?;
    if matches!(first[..], [0x1f | 0x28]) {
        return Ok(None);
    }
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
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

/// Whether more of a trace can come: a recorder is at work on it.
pub(crate) fn recording_state(path: &Path) -> RecordingState {
    match liveness(path) {
        Liveness::Running => RecordingState::Running,
        Liveness::Stopped | Liveness::Unknown => RecordingState::Over,
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
        check(b"{\"v\":1,\"type\":\"me", "x ends in its first line: the recorder was stopped at once");
        check(b"hello\nworld\n", "x is not a trace: line 1 is not a JSON object (byte 0: expected a value)");
        check(b"{\"a\":1}\n", "x is not a trace: line 1 has neither `raw` nor `type`");
        check(b"\n{\"v\":1,\"type\":\"meta\",\"label\":\"l\"}\n", "Some(\"l\") Missing");
        check(b"{\"type\":\"rotated\",\"next\":\"b\"}\r\n", "None Rotated { next: \"b\" }");
    }
}
