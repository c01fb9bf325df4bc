//! How a command fails, and the one place where failures are printed. Libraries return typed errors; commands turn
//! them into a [`CommandError`] with the hints that only a command line can give.

use crate::exit_code::ExitCode;
use crate::output::{self, Styles};
use crate::text::printable_lines;
use std::error::Error;
use std::fmt;
use std::io;

/// A failed command: the error, its causes, and hints for the user.
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
    /// The reader of our output has closed it; there is nothing left to report.
    OutputClosed,
}

impl CommandError {
    pub(crate) fn failure(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        CommandError { kind: ErrorKind::Failure, error: error.into(), hints: Vec::new() }
    }

    /// A usage error: the command line or the configuration is wrong, and nothing was done. It has the same exit code as
    /// other failures.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::failure(error)
    }

    /// A failure with a cause.
    pub(crate) fn because(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::failure(ErrorWithSource { message: message.into(), source: source.into() })
    }

    /// A usage error with a cause.
    pub(crate) fn usage_because(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::usage(ErrorWithSource { message: message.into(), source: source.into() })
    }

    /// Adds a hint: what the user can do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints the error, its causes and its hints to standard error.
    pub(crate) fn print(&self) {
        if self.kind == ErrorKind::OutputClosed {
            return;
        }
        let mut stderr = anstream::stderr();
        // If standard error is closed, no reader is left to report to.
        // Always colored here: `anstream` strips the codes where standard error is not a terminal.
        let _ = self.write(&mut stderr, &output::Styles::colored());
    }

    /// Whether the reader of our output has closed it.
    pub(crate) fn is_output_closed(&self) -> bool {
        self.kind == ErrorKind::OutputClosed
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.kind {
            ErrorKind::Failure => ExitCode::FAILURE,
            ErrorKind::OutputClosed => ExitCode::OK,
        }
    }

    fn write(&self, sink: &mut impl io::Write, styles: &Styles) -> io::Result<()> {
        // File names and messages of other programs are part of these texts, and must not control the terminal.
        writeln!(sink, "{} {}", styles.error.paint("error:"), printable_lines(&self.error.to_string()))?;
        let mut cause = self.error.source();
        while let Some(error) = cause {
            writeln!(sink, "{} {}", styles.dim.paint("caused by:"), printable_lines(&error.to_string()))?;
            cause = error.source();
        }
        for hint in &self.hints {
            writeln!(sink, "{} {}", styles.hint.paint("hint:"), printable_lines(hint))?;
        }
        Ok(())
    }
}

/// For errors while writing our own output. Other errors name their file and use [`CommandError::because`].
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        // `wiretape show … | head` is normal use, and exits with 0 (docs/exit-codes.md).
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
struct ErrorWithSource {
    message: String,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for ErrorWithSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ErrorWithSource {
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
    fn a_hostile_file_name_does_not_steer_the_terminal() {
        check(
            &CommandError::failure("can't read c\u{1b}[2J.toml\nline 2").hint("rename \u{7}"),
            ExitCode::FAILURE,
            "error: can't read c␛[2J.toml\nline 2\nhint: rename ␇\n",
        );
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(error.exit_code(), ExitCode::OK);
    }
}
