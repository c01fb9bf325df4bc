//! A redacted trace of a session that Wiretape itself has with a server: `replay` records the calls that it forwards to the
//! real server, `verify` records its whole run.
//!
//! There is one writer and no traffic to protect, so none of the journal's machinery is needed: an error is returned.

use crate::journal::Clock;
use crate::platform::Exit;
use crate::record::meta;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::Arc;
use wiretape_trace::format::{LineEnd, Meta, TraceWriter};
use wiretape_trace::message::Direction;
use wiretape_trace::redact::{Redactor, SecretMemory};

/// The trace file of such a session, open for writing.
#[derive(Debug)]
pub struct NewTrace {
    writer: TraceWriter<File>,
    redactor: Option<Arc<Redactor>>,
    /// What the session has named as a secret.
    memory: SecretMemory,
    clock: Clock,
}

impl NewTrace {
    /// Writes the first line. `server` is the command line that started the server, or its URL.
    pub fn begin(
        file: File,
        server: &[OsString],
        label: Option<&str>,
        redactor: Option<Arc<Redactor>>,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let memory = SecretMemory::default();
        let meta = meta(server, label, redactor.as_deref(), &memory);
        let is_url = server.first().is_some_and(|word| word.to_string_lossy().contains("://"));
        let transport = if is_url { Some("http".to_owned()) } else { meta.transport };
        let writer = TraceWriter::new(file, clock.now(), &Meta { transport, ..meta })?;
        Ok(NewTrace { writer, redactor, memory, clock })
    }

    /// Redacts a message and appends it.
    pub(crate) fn write_message(&mut self, dir: Direction, raw: &[u8]) -> io::Result<()> {
        let clean = match &self.redactor {
            Some(redactor) => redactor
                .json_with(raw, &self.memory)
                // Not JSON, although it should be: secrets must be found nevertheless.
                .unwrap_or_else(|_| redactor.text_with(raw, &self.memory)),
            None => Cow::Borrowed(raw),
        };
        self.writer.message(self.clock.now(), dir, &clean)
    }

    /// Writes the last line, with the server's exit status if it is known.
    pub fn end(self, exit: Option<Exit>) -> io::Result<()> {
        let at = self.clock.now();
        let (exit_code, signal) = exit.map_or((0, None), |exit| (exit.code, exit.signal));
        let end = LineEnd { duration_ms: at.us / 1000, exit_code, signal, ..LineEnd::default() };
        self.writer.end(at, &end).map(drop)
    }
}
