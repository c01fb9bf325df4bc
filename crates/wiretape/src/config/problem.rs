//! Problems in a configuration file, with their locations. They are collected behind a shared reference rather than
//! returned, so that reading continues after a problem and reports all of them at once.

use crate::error::CommandError;
use crate::text::printable;
use crate::units;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;

/// A problem in a file. It never contains the value of a redaction pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// The kind of problem.
    pub(crate) kind: ProblemKind,
    pub(crate) message: String,
    /// A suggestion: what the user may have meant.
    pub(crate) suggestion: Option<String>,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProblemKind {
    /// The file is not TOML.
    Syntax,
    /// The key does not exist.
    UnknownKey,
    /// The key exists, but has no effect in this place.
    NoEffect,
    /// A required key is missing.
    MissingKey,
    /// The value has the wrong type.
    WrongType,
    /// The value is not valid.
    BadValue,
    /// The value conflicts with another one in the file.
    Conflict,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean {suggestion}?"),
            None => Ok(()),
        }
    }
}

/// The problems of one file, collected while it is read.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    text: &'a str,
    found: RefCell<Vec<(usize, Problem)>>,
    /// Values that are not valid TOML; no further problems are reported for them.
    broken: RefCell<Vec<Range<usize>>>,
    has_syntax_errors: Cell<bool>,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Problems {
            text,
            found: RefCell::default(),
            broken: RefCell::default(),
            has_syntax_errors: Cell::new(false),
        }
    }

    /// Adds a problem at `span`.
    pub(crate) fn add(&self, span: &Range<usize>, kind: ProblemKind, message: impl Into<String>) {
        self.suggest(span, kind, message, None);
    }

    /// Adds a problem at `span`, with a suggestion.
    pub(crate) fn suggest(
        &self,
        span: &Range<usize>,
        kind: ProblemKind,
        message: impl Into<String>,
        suggestion: Option<String>,
    ) {
        let is_broken = self.broken.borrow().iter().any(|broken| broken.start == span.start);
        // The unreadable part may hold the key that seems to be missing.
        let is_doubtful = kind == ProblemKind::MissingKey && self.has_syntax_errors.get();
        if is_broken || is_doubtful {
            return;
        }
        self.has_syntax_errors.set(self.has_syntax_errors.get() || kind == ProblemKind::Syntax);
        let (line, column) = self.position(span.start);
        // Text from the file must not control the terminal.
        let message = printable(&message.into()).into_owned();
        let problem = Problem { line, column, kind, message, suggestion };
        self.found.borrow_mut().push((span.start, problem));
    }

    /// Suppresses further problems for the value at `span`.
    pub(super) fn suppress(&self, span: Range<usize>) {
        self.broken.borrow_mut().push(span);
    }

    /// Line and column of an offset, from 1.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        // Editors don't count a byte order mark as a column.
        let column = line.trim_start_matches('\u{feff}').chars().count();
        (before.matches('\n').count() + 1, column + 1)
    }

    /// The line of an offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.position(offset).0
    }

    /// All problems, in the order of the file.
    pub(crate) fn into_vec(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        // Sections report unread keys last, so problems are not found in the order of the file.
        found.sort_by_key(|(offset, _)| *offset);
        found.dedup();
        found.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// The text of a file; invalid UTF-8 is reported as a problem.
pub(crate) fn read_file(path: &Path) -> io::Result<Result<String, Problem>> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        // The part before the first invalid byte is valid, and enough to compute the position.
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let problems = Problems::new(&before);
        let (line, column) = problems.position(valid);
        let message = "the file is not valid UTF-8".to_owned();
        Problem { line, column, kind: ProblemKind::Syntax, message, suggestion: None }
    }))
}

/// The error for a file with problems, which lists all of them.
pub(crate) fn refuse(path: &Path, problems: &[Problem]) -> CommandError {
    let path = path.display();
    let message = match problems {
        [problem] => format!("{path}:{problem}"),
        _ => {
            let lines: String = problems.iter().map(|problem| format!("\n  {path}:{problem}")).collect();
            format!("{path} has {}{lines}", units::count(problems.len() as u64, "problem"))
        }
    };
    CommandError::usage(message).hint("see docs/configuration.md for all keys")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_stand_in_the_order_of_the_file() {
        let problems = Problems::new("\u{feff}ä = 1\nöö = 2\n");
        problems.add(&(15..16), ProblemKind::BadValue, "second");
        problems.suggest(&(3..5), ProblemKind::UnknownKey, "first", Some("`a`".to_owned()));
        problems.suppress(8..9);
        problems.add(&(8..9), ProblemKind::BadValue, "unsaid");
        let told: Vec<String> = problems.into_vec().iter().map(ToString::to_string).collect();
        assert_eq!(told, ["1:1: first; did you mean `a`?", "2:4: second"]);
    }
}
