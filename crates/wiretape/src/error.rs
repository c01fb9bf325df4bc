//! How a command fails, and the one place where that is printed.

use crate::exit_code::ExitCode;
use crate::output::{self, Styles};
use std::error::Error;
use std::fmt;
use std::io;

/// A command that failed: why, and what to do about it.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    error: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorKind {
    /// A usage error, or a failure.
    Failure,
    /// Whoever read our output has stopped reading; nobody is left to be told.
    OutputClosed,
}

impl CommandError {
    /// It did not work.
    pub(crate) fn failure(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        CommandError { kind: ErrorKind::Failure, error: error.into(), hints: Vec::new() }
    }

    /// A usage error: the command line or the configuration is wrong, and nothing was done. Ends with the same code as
    /// other failures.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::failure(error)
    }

    /// It did not work, and `source` says why.
    pub(crate) fn because(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::failure(Because { message: message.into(), source: source.into() })
    }

    /// The command line asks for something that can't be had, and `source` says why.
    pub(crate) fn usage_because(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::usage(Because { message: message.into(), source: source.into() })
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Tells the user on standard error.
    pub(crate) fn print(&self) {
        if self.kind == ErrorKind::OutputClosed {
            return;
        }
        let mut stderr = anstream::stderr();
        // If standard error is closed, nobody is left to be told.
        let _ = self.write(&mut stderr, &output::Styles::coloured());
    }

    /// Whether nobody reads our output any more.
    pub(crate) fn is_output_closed(&self) -> bool {
        self.kind == ErrorKind::OutputClosed
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.kind {
            ErrorKind::Failure => ExitCode::FAILURE,
            ErrorKind::OutputClosed => ExitCode::OK,
        }
    }

    fn write(&self, sink: &mut impl io::Write, styles: &Styles) -> io::Result<()> {
        writeln!(sink, "{} {}", styles.error.paint("error:"), self.error)?;
        let mut cause = self.error.source();
        while let Some(error) = cause {
            writeln!(sink, "{} {error}", styles.dim.paint("caused by:"))?;
            cause = error.source();
        }
        for hint in &self.hints {
            writeln!(sink, "{} {hint}", styles.hint.paint("hint:"))?;
        }
        Ok(())
    }
}

/// For errors of writing our own output; others name their file and come through [`CommandError::because`].
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return CommandError { kind: ErrorKind::OutputClosed, ..Self::failure(error) };
        }
        Self::because("can't write the output", error)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

#[derive(Debug)]
struct Because {
    message: String,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Because {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &CommandError, code: ExitCode, expected: &str) {
        let mut printed = Vec::new();
        error.write(&mut printed, &Styles::plain()).unwrap();
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
        assert_eq!(error.exit_code(), code);
    }

    #[test]
    fn causes_and_hints_follow_the_error() {
        let source = io::Error::other("disk on fire");
        check(
            &CommandError::because("can't read a.jsonl", source).hint("put it out").hint("call for help"),
            ExitCode::FAILURE,
            "error: can't read a.jsonl\ncaused by: disk on fire\nhint: put it out\nhint: call for help\n",
        );
        check(&CommandError::usage("no"), ExitCode::FAILURE, "error: no\n");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(error.exit_code(), ExitCode::OK);
    }
}
