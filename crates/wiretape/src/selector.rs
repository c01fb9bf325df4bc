//! How a user names a trace on the command line. `wiretape-library` resolves the name; this module adds the directory to
//! search, and the hints.

use crate::error::CommandError;
use crate::{dirs, text, units};
use std::ffi::OsString;
use std::path::PathBuf;
use wiretape_library::{CatalogEntry, SelectorError};

/// The name of a trace as typed by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceSelector(wiretape_library::TraceSelector);

impl From<OsString> for TraceSelector {
    fn from(typed: OsString) -> Self {
        TraceSelector(typed.into())
    }
}

impl TraceSelector {
    /// The path of the trace.
    pub(crate) fn resolve(&self) -> Result<PathBuf, CommandError> {
        // A file is found also where there is no data directory, as in a container without a home directory.
        if let Some(file) = self.0.file() {
            return Ok(file.to_owned());
        }
        self.0.resolve(&dirs::traces_dir()?, &dirs::index_dir()?).map_err(CommandError::from)
    }
}

const LIST_HINT: &str = "run `wiretape ls` to list traces";

impl From<SelectorError> for CommandError {
    fn from(error: SelectorError) -> Self {
        let hint = match &error {
            SelectorError::Catalog(_) => None,
            SelectorError::NoFile(_) | SelectorError::NoId { .. } => Some(LIST_HINT),
            SelectorError::NoTraces(_) | SelectorError::TooFarBack { .. } => {
                Some("run `wiretape record -- COMMAND` to record one, or `wiretape ls` to list traces")
            }
            SelectorError::Ambiguous { .. } => Some("use a longer prefix, or the path of the file"),
        };
        let error = match error {
            SelectorError::Ambiguous { prefix, candidates } => {
                CommandError::failure(ambiguous(&prefix, &candidates))
            }
            SelectorError::Catalog(error) => error.into(),
            other => CommandError::failure(other),
        };
        hint.into_iter().fold(error, CommandError::hint)
    }
}

/// The most candidates to list.
const SHOWN_CANDIDATES: usize = 8;

fn ambiguous(prefix: &str, candidates: &[CatalogEntry]) -> String {
    let mut message = format!("`{prefix}` matches {} traces:", candidates.len());
    for entry in candidates.iter().take(SHOWN_CANDIDATES) {
        let started =
            entry.facts.started_ms.and_then(units::iso).unwrap_or_else(|| "unknown time".to_owned());
        let label = entry.label();
        message.push_str(&format!(
            "\n  {}  {started}  {}",
            text::printable(entry.id()),
            text::printable(label)
        ));
    }
    if candidates.len() > SHOWN_CANDIDATES {
        message.push_str("\n  …");
    }
    message
}
