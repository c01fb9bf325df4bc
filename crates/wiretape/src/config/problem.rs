//! What is wrong with a configuration file, and where.

use crate::error::CommandError;
use crate::text::printable;
use crate::units;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Something wrong with a file. It never shows the value of a secret's pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// What kind of thing is wrong.
    pub(crate) kind: ProblemKind,
    /// What is wrong.
    pub(crate) message: String,
    /// What may have been meant.
    pub(crate) suggestion: Option<String>,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProblemKind {
    /// It is not TOML.
    Syntax,
    /// There is no such key.
    UnknownKey,
    /// There is such a key, but it does nothing there.
    NoEffect,
    /// A key that must be there is not.
    MissingKey,
    /// A value of another type is needed.
    WrongType,
    /// The value makes no sense.
    BadValue,
    /// It can't be had together with something else in the file.
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

/// The problems of one file, as they are found.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    text: &'a str,
    found: RefCell<Vec<(usize, Problem)>>,
    /// Values that are no TOML; nothing more is said of them.
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

    /// Adds a problem with what stands at `span`.
    pub(crate) fn add(&self, span: &Range<usize>, kind: ProblemKind, message: impl Into<String>) {
        self.suggest(span, kind, message, None);
    }

    /// Adds a problem, and what may have been meant.
    pub(crate) fn suggest(
        &self,
        span: &Range<usize>,
        kind: ProblemKind,
        message: impl Into<String>,
        suggestion: Option<String>,
    ) {
        let is_broken = self.broken.borrow().iter().any(|broken| broken.start == span.start);
        // What could not be read may hold the key that seems to be missing.
        let is_doubtful = kind == ProblemKind::MissingKey && self.has_syntax_errors.get();
        if is_broken || is_doubtful {
            return;
        }
        self.has_syntax_errors.set(self.has_syntax_errors.get() || kind == ProblemKind::Syntax);
        let (line, column) = self.position(span.start);
        // What stands in the file must not steer the terminal.
        let message = printable(&message.into()).into_owned();
        let problem = Problem { line, column, kind, message, suggestion };
        self.found.borrow_mut().push((span.start, problem));
    }

    /// Says no more of the value at `span`.
    pub(super) fn give_up(&self, span: Range<usize>) {
        self.broken.borrow_mut().push(span);
    }

    /// Line and column, from 1.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let column = line.trim_start_matches('\u{feff}').chars().count();
        (before.matches('\n').count() + 1, column + 1)
    }

    /// The line that an offset is in.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.position(offset).0
    }

    /// All that was found, in the order of the file.
    pub(crate) fn into_vec(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(offset, _)| *offset);
        found.dedup();
        found.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// The text of a file; what is not UTF-8 is a problem like another.
pub(crate) fn read_file(path: &Path) -> io::Result<Result<String, Problem>> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let problems = Problems::new(&before);
        let (line, column) = problems.position(valid);
        let message = "this is not UTF-8, which the file must be".to_owned();
        Problem { line, column, kind: ProblemKind::Syntax, message, suggestion: None }
    }))
}

/// Refuses to go on with a file that has problems, all of which are told.
pub(crate) fn refuse(path: &Path, problems: &[Problem]) -> CommandError {
    let path = path.display();
    let message = match problems {
        [problem] => format!("{path}:{problem}"),
        _ => {
            let lines: String = problems.iter().map(|problem| format!("\n  {path}:{problem}")).collect();
            format!("{path} has {}{lines}", units::count(problems.len() as u64, "problem"))
        }
    };
    CommandError::usage(message).hint("docs/configuration.md lists what the file may hold")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_stand_in_the_order_of_the_file() {
        let problems = Problems::new("\u{feff}ä = 1\nöö = 2\n");
        problems.add(&(15..16), ProblemKind::BadValue, "second");
        problems.suggest(&(3..5), ProblemKind::UnknownKey, "first", Some("`a`".to_owned()));
        problems.give_up(8..9);
        problems.add(&(8..9), ProblemKind::BadValue, "unsaid");
        let told: Vec<String> = problems.into_vec().iter().map(ToString::to_string).collect();
        assert_eq!(told, ["1:1: first; did you mean `a`?", "2:4: second"]);
    }
}
