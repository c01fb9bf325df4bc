//! Trace files, as the commands see them: errors with hints, progress on a terminal, and notes about damage. How traces
//! are opened and read is `wiretape-library`'s.

use crate::error::CommandError;
use crate::output;
use crate::text::printable;
use indicatif::ProgressBarIter;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use wiretape_library::CatalogError;
use wiretape_library::open::open_with;
pub(crate) use wiretape_library::{
    FileReader, Head, TraceFileError, ending, follow, goes_on, head, next_line, open, recording_state,
};
use wiretape_trace::format::Notice;

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

impl From<CatalogError> for CommandError {
    fn from(error: CatalogError) -> Self {
        CommandError::failure(error)
    }
}

/// Opens a trace, and shows on a terminal how much of it was read.
pub(crate) fn open_with_progress(path: &Path) -> Result<FileReader, TraceFileError> {
    open_with(path, |file, length| {
        if length < WORTH_A_BAR {
            return Box::new(file);
        }
        Box::new(Finishing(output::progress_bar(Some(length)).wrap_read(file)))
    })
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

/// Tells what a command must know of a trace that it read: what is damaged, and what is missing.
pub(crate) fn tell_damage(path: &Path, reader: &FileReader) {
    for notice in reader.notices() {
        if notice.is_damage() || matches!(notice, Notice::NewerVersion { .. }) {
            output::note(format!("{}: {notice}", printable(&path.display().to_string())));
        }
    }
}
