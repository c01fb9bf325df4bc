//! Trace files as the commands see them: errors with hints, progress on a terminal, and notes about damage. Opening and
//! reading traces is up to `wiretape-library`.

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
                "run `wiretape ls` to list traces, or `wiretape import` to convert a transcript of another program"
                    .to_owned(),
            ),
            TraceFileError::Open { path, source } if source.kind() == io::ErrorKind::IsADirectory => {
                Some(format!("run `wiretape ls --dir {}` to list the traces in this directory", path.display()))
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

/// Opens a trace, with a progress bar on a terminal if it is large.
pub(crate) fn open_with_progress(path: &Path) -> Result<FileReader, TraceFileError> {
    open_with(path, |file, length| {
        if length < WORTH_A_BAR {
            return Box::new(file);
        }
        Box::new(ProgressReader(output::progress_bar(Some(length)).wrap_read(file)))
    })
}

/// Smaller files (in bytes) are read before a progress bar could be noticed.
const WORTH_A_BAR: u64 = 64 << 20;

/// Removes the progress bar at the end of the file.
struct ProgressReader(ProgressBarIter<File>);

impl Read for ProgressReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if read == 0 {
            self.0.progress.finish_and_clear();
        }
        Ok(read)
    }
}

/// Reports damage and newer versions that were found while reading a trace.
pub(crate) fn report_damage(path: &Path, reader: &FileReader) {
    for notice in reader.notices() {
        // Only what may make the output incomplete is worth a note after every command.
        if notice.is_damage() || matches!(notice, Notice::NewerVersion { .. }) {
            output::note(format!("{}: {notice}", printable(&path.display().to_string())));
        }
    }
}
