//! The one error type of all tasks: a sentence for the developer at the terminal. No task handles the failure of
//! another, so it carries nothing else.

use std::fmt::{self, Display};
use std::io;

/// The result of a task.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Why a task failed.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Adds what was being done to an error.
pub(crate) trait Context<T> {
    fn context(self, doing: impl Display) -> Result<T>;
}

impl<T, E: Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.map_err(|error| Failure(format!("{doing}: {error}")))
    }
}
