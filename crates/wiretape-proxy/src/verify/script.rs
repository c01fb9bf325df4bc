//! The trace's file, and the script built from it.

use crate::replay::{Reader, TapeFile};
use std::path::PathBuf;
use std::sync::Arc;
use wiretape_analyze::replay::Matching;
use wiretape_analyze::verify::{Script, ScriptBuilder};
use wiretape_library::TraceFileError;
use wiretape_trace::format::{Line, Notice};

/// The client's side of a trace.
#[derive(Debug)]
pub struct RecordedClient {
    /// The calls to repeat.
    pub script: Script,
    /// The file with their messages.
    pub file: Arc<TapeFile>,
    /// The notices about the trace, with the path of the part.
    pub notices: Vec<(PathBuf, Notice)>,
}

/// Reads recordings as one script; each is a list of its parts.
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
