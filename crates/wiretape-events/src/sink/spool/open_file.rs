//! The open segment's file: events as they were pushed, one per line, until the segment is sealed.

use super::segment::OpenName;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// The file that keeps the open segment's events for the next start, should the process be killed.
pub(super) struct OpenFile {
    pub(super) name: OpenName,
    file: File,
    /// How much of the batch is in the file.
    written: usize,
}

impl OpenFile {
    pub(super) fn new(name: OpenName, file: File) -> Self {
        OpenFile { name, file, written: 0 }
    }

    /// Writes what the batch has gained since the last call: one write for all events of a turn.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let new = &lines[self.written..];
        if new.is_empty() {
            return Ok(());
        }
        // After a failed write there may be half a line: this overwrites it, as it begins where the last successful
        // write ended, and is at least as long.
        self.file.seek(SeekFrom::Start(self.written as u64))?;
        self.file.write_all(new)?;
        self.written = lines.len();
        Ok(())
    }
}
