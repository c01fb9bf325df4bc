//! A trace of what a server says now, without secrets: of what was not recorded before, or of what was and may be another.

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
use wiretape_trace::redact::Redactor;

/// A trace that is being written.
#[derive(Debug)]
pub struct NewTrace {
    writer: TraceWriter<File>,
    redactor: Option<Arc<Redactor>>,
    clock: Clock,
}

impl NewTrace {
    /// Begins a trace of a server that was started so, or that is reached at a URL, in a file of its own.
    pub fn begin(
        file: File,
        server: &[OsString],
        label: Option<&str>,
        redactor: Option<Arc<Redactor>>,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let meta = meta(server, label, redactor.as_deref());
        let is_url = server.first().is_some_and(|word| word.to_string_lossy().contains("://"));
        let transport = if is_url { Some("http".to_owned()) } else { meta.transport };
        let writer = TraceWriter::new(file, clock.now(), &Meta { transport, ..meta })?;
        Ok(NewTrace { writer, redactor, clock })
    }

    pub(crate) fn message(&mut self, dir: Direction, raw: &[u8]) -> io::Result<()> {
        let clean = match &self.redactor {
            Some(redactor) => redactor.json(raw).unwrap_or_else(|_| redactor.text(raw)),
            None => Cow::Borrowed(raw),
        };
        self.writer.message(self.clock.now(), dir, &clean)
    }

    /// Writes the last line, with how the server ended if that is known.
    pub fn end(self, exit: Option<Exit>) -> io::Result<()> {
        let at = self.clock.now();
        let (exit_code, signal) = exit.map_or((0, None), |exit| (exit.code, exit.signal));
        let end = LineEnd { duration_ms: at.us / 1000, exit_code, signal, ..LineEnd::default() };
        self.writer.end(at, &end).map(drop)
    }
}
