//! A preview of a long trace: its first bytes are indexed before the rest, so that `initialize` is answered while indexing
//! continues (`cargo xtask bench --only replay`, the row "start to the first initialize answer").

use super::file::TapeFile;
use super::loaded_tape::LoadedTape;
use super::stdio::read;
use crate::platform::StandardStreams;
use std::io::{self, Write as _};
use std::path::Path;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::replay::{Action, Setting};
use wiretape_trace::message::Envelope;

/// The size in bytes from which a preview is worthwhile.
const LONG: u64 = 1 << 20;

/// The number of bytes that are indexed for a preview.
const BEGINNING: u64 = 256 << 10;

/// The index of the beginning of a long trace.
#[derive(Debug)]
pub struct TapePreview {
    loaded: LoadedTape,
}

/// What happened before the whole tape was loaded.
#[derive(Debug, Default)]
pub struct PreviewOutcome {
    /// The bytes read from the client.
    pub(super) bytes_read: Vec<u8>,
    /// Whether the first request was already answered.
    pub(super) is_answered: bool,
}

impl TapePreview {
    /// Indexes the beginning of a trace; `None` if a preview is not worthwhile, or if faults or timing must apply to the answer.
    pub fn read(path: &Path, setting: &Setting) -> Option<Self> {
        if !setting.faults.list.is_empty() || !setting.speed.is_at_once() {
            return None;
        }
        let is_long =
            std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() >= LONG);
        let indexed = is_long.then(|| TapeFile::beginning(path, BEGINNING, &setting.matching))?.ok()?;
        Some(TapePreview { loaded: LoadedTape::new(indexed, setting.clone()) })
    }

    /// Waits for the client's first line, and answers it if it is an `initialize` that the beginning of the trace contains.
    pub fn answer_initialize(&self) -> io::Result<PreviewOutcome> {
        let mut stdin = StandardStreams::stdin()?;
        let mut preview = PreviewOutcome::default();
        let mut chunk = vec![0; 64 * 1024];
        while memchr::memchr(b'\n', &preview.bytes_read).is_none() {
            match read(&mut stdin, &mut chunk)? {
                0 => return Ok(preview),
                n => preview.bytes_read.extend_from_slice(&chunk[..n]),
            }
        }
        let line = preview.bytes_read.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Some(mut answer) = self.answer(line) {
            answer.push(b'\n');
            StandardStreams::stdout()?.write_all(&answer)?;
            preview.is_answered = true;
        }
        Ok(preview)
    }

    fn answer(&self, line: &[u8]) -> Option<Vec<u8>> {
        let is_initialize = Envelope::scan(line).method.as_deref() == Some("initialize");
        let is_recorded =
            self.loaded.tape().of_method("initialize").any(|(_, call)| call.outcome == Outcome::Ok);
        if !is_initialize || !is_recorded {
            return None;
        }
        let mut actions = Vec::new();
        // A player of its own, which is discarded: the real one sees the same line again, and its answer is then
        // suppressed.
        self.loaded.player().receive(line, 0, &mut actions);
        match actions.first_mut() {
            Some(Action::Answer { message, .. }) => Some(std::mem::take(message)),
            _ => None,
        }
    }
}
