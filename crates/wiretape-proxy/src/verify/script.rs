//! A trace's file, and the script that it makes.

use crate::replay::{Reader, TapeFile};
use std::path::PathBuf;
use std::sync::Arc;
use wiretape_analyze::replay::Matching;
use wiretape_analyze::verify::{Script, ScriptBuilder};
use wiretape_library::TraceFileError;
use wiretape_trace::format::{Line, Notice};

/// What a recorded client said, and where.
#[derive(Debug)]
pub struct RecordedClient {
    /// What it said.
    pub script: Script,
    /// The file that has it.
    pub file: Arc<TapeFile>,
    /// What is odd about the trace, and in which of its files.
    pub notices: Vec<(PathBuf, Notice)>,
}

/// Reads recordings as one, each in its parts.
pub fn read(recordings: &[Vec<PathBuf>], matching: &Matching) -> Result<RecordedClient, TraceFileError> {
    let mut builder = ScriptBuilder::new(matching);
    let (file, notices) = TapeFile::read_all(recordings, &mut builder)?;
    Ok(RecordedClient { script: builder.finish(), file: Arc::new(file), notices })
}

impl Reader for ScriptBuilder<'_> {
    fn line(&mut self, line: &Line<'_>) {
        self.observe(line);
    }

    fn next_trace(&mut self) {
        ScriptBuilder::next_trace(self);
    }
}
