//! Traces of what was new: one for each real server, for a trace is of one client and one server.

use crate::journal::Clock;
use crate::platform::{self, Exit};
use crate::record::meta;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wiretape_trace::format::{LineEnd, TraceWriter};
use wiretape_trace::message::Direction;
use wiretape_trace::redact::Redactor;

/// The traces of all real servers.
#[derive(Debug)]
pub(super) struct Recordings {
    path: PathBuf,
    command: Vec<OsString>,
    redactor: Option<Arc<Redactor>>,
    /// The first: it is there from the beginning, so that whoever can't write it learns that at once.
    first: Option<Recording>,
    /// How many names were tried.
    names: u32,
}

impl Recordings {
    pub(super) fn begin(path: &Path, command: &[OsString], redactor: Option<Redactor>) -> io::Result<Self> {
        let redactor = redactor.map(Arc::new);
        let first = Recording::begin(path, command, redactor.clone())?;
        Ok(Recordings {
            path: path.to_owned(),
            command: command.to_vec(),
            redactor,
            first: Some(first),
            names: 1,
        })
    }

    /// The trace of one more server.
    pub(super) fn next(&mut self) -> io::Result<Recording> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        loop {
            self.names += 1;
            let path = numbered(&self.path, self.names);
            match Recording::begin(&path, &self.command, self.redactor.clone()) {
                // An older one of that name is kept.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                recording => return recording,
            }
        }
    }

    /// There will be no more servers.
    pub(super) fn end(&mut self) {
        if let Some(first) = self.first.take() {
            first.end(None);
        }
    }
}

/// `new.jsonl` is `new-2.jsonl` then.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// The trace of what one server said that was new.
#[derive(Debug)]
pub(super) struct Recording {
    writer: TraceWriter<File>,
    redactor: Option<Arc<Redactor>>,
    clock: Clock,
    began: Instant,
}

impl Recording {
    fn begin(path: &Path, command: &[OsString], redactor: Option<Arc<Redactor>>) -> io::Result<Self> {
        let clock = Clock::start();
        let file = platform::create_private_file(path)?;
        let writer = TraceWriter::new(file, clock.now(), &meta(command, None, redactor.as_deref()))?;
        Ok(Recording { writer, redactor, clock, began: Instant::now() })
    }

    pub(super) fn message(&mut self, dir: Direction, raw: &[u8]) -> io::Result<()> {
        let clean = match &self.redactor {
            Some(redactor) => redactor.json(raw).unwrap_or_else(|_| redactor.text(raw)),
            None => Cow::Borrowed(raw),
        };
        self.writer.message(self.clock.now(), dir, &clean)
    }

    pub(super) fn end(self, exit: Option<Exit>) {
        let duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (exit_code, signal) = exit.map_or((0, None), |exit| (exit.code, exit.signal));
        let end = LineEnd { duration_ms, exit_code, signal, ..LineEnd::default() };
        let _ = self.writer.end(self.clock.now(), &end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_traces_have_numbers() {
        let check = |path: &str, expected: &str| {
            assert_eq!(numbered(Path::new(path), 2), Path::new(expected));
        };
        check("new.jsonl", "new-2.jsonl");
        check("a/b.c/new", "a/b.c/new-2");
        check("a/new.x.jsonl", "a/new.x-2.jsonl");
    }
}
