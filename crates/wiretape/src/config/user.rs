//! The user's own configuration file, which all commands share.

use super::document::{Document, Schema};
use super::problem::{Problem, Problems, read_file, refuse};
use super::redact::{REDACT, REDACT_PATTERN, REDACT_TOKEN, RedactConfig};
use crate::dirs;
use crate::error::CommandError;
use crate::proxy_config;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// The top level of the file.
const USER: Schema = Schema { title: "the file", place: "in this file", keys: &["redact"] };

/// The top level of a proxy's configuration file.
const PROXY_FILE: Schema = Schema {
    title: "another file",
    place: "in a file for `wiretape proxy --config`",
    keys: proxy_config::PROXY_FILE.keys,
};

/// Other tables that a misplaced key may belong to.
const ELSEWHERE: &[&Schema] = &[&PROXY_FILE, &REDACT, &REDACT_PATTERN, &REDACT_TOKEN];

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Config {
    pub(crate) redact: RedactConfig,
}

impl Config {
    /// Reads the given file, or the user's own if it exists.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, CommandError> {
        let (path, required) = match path {
            Some(path) => (PathBuf::from(path), true),
            None => match dirs::config_file() {
                Some(path) => (path, false),
                // No home directory, as in some containers and services: the defaults apply.
                None => return Ok(Config::default()),
            },
        };
        match read_file(&path) {
            Ok(Ok(text)) => read_user(&text).map_err(|problems| refuse(&path, &problems)),
            Ok(Err(problem)) => Err(refuse(&path, &[problem])),
            Err(error) if is_absent(&error) && !required => Ok(Config::default()),
            Err(error) => Err(CommandError::usage_because(
                format!("can't read the configuration {}", path.display()),
                error,
            )),
        }
    }
}

/// Parses the text of a user's configuration, or reports all problems.
pub(crate) fn read_user(text: &str) -> Result<Config, Vec<Problem>> {
    let problems = Problems::new(text);
    let document = Document::parse(text, &problems);
    let config = document.read(&USER, ELSEWHERE, &problems, |section| {
        let redact = section.table("redact", &REDACT, RedactConfig::read);
        Config { redact: redact.unwrap_or_default() }
    });
    let found = problems.into_vec();
    if found.is_empty() { Ok(config.unwrap_or_default()) } else { Err(found) }
}

/// Whether the file, or its directory, does not exist.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
