//! The traces of real servers: one for each, because a trace has one client and one server.

use crate::new_trace::NewTrace;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wiretape_library::private;
use wiretape_trace::redact::Redactor;

/// The traces of all real servers.
#[derive(Debug)]
pub(super) struct Recordings {
    path: PathBuf,
    command: Vec<OsString>,
    redactor: Option<Arc<Redactor>>,
    /// The first trace. Created at start, so that the user learns at once if it can't be written.
    first: Option<NewTrace>,
    /// The number of file names tried.
    names: u32,
}

impl Recordings {
    pub(super) fn begin(path: &Path, command: &[OsString], redactor: Option<Redactor>) -> io::Result<Self> {
        let redactor = redactor.map(Arc::new);
        let first = one(path, command, redactor.clone())?;
        Ok(Recordings {
            path: path.to_owned(),
            command: command.to_vec(),
            redactor,
            first: Some(first),
            names: 1,
        })
    }

    /// The trace of one more server.
    pub(super) fn next(&mut self) -> io::Result<NewTrace> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        loop {
            self.names += 1;
            let path = numbered(&self.path, self.names);
            match one(&path, &self.command, self.redactor.clone()) {
                // An existing file is never overwritten.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                recording => return recording,
            }
        }
    }

    /// Removes the first trace if no server was started: it would be empty, and occupy the name.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.first.take().map_or(Ok(()), |first| {
            drop(first);
            std::fs::remove_file(&self.path)
        })
    }
}

fn one(path: &Path, command: &[OsString], redactor: Option<Arc<Redactor>>) -> io::Result<NewTrace> {
    NewTrace::begin(private::create_file(path)?, command, None, redactor)
}

/// The numbered variant of a path: `new.jsonl` becomes `new-2.jsonl`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
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
