//! The user's configuration file.

use crate::dirs;
use crate::error::CommandError;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use wiretape_trace::redact::Rules;

/// What the file may hold. A key that is not here is an error: nothing is accepted and ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Config {
    /// What is secret.
    pub(crate) redact: RedactConfig,
}

/// Changes to the rules of redaction.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct RedactConfig {
    /// Rules to leave out.
    disable: Vec<String>,
    /// Member names whose values are secret; `*` stands for anything.
    keys: Vec<String>,
    /// Member names whose values are not secret by their name.
    allow_keys: Vec<String>,
    /// Patterns of secrets.
    patterns: Vec<PatternConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternConfig {
    name: String,
    regex: String,
}

impl Config {
    /// Reads the given file, or the user's own if there is one.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, CommandError> {
        let (path, required) = match path {
            Some(path) => (PathBuf::from(path), true),
            None => match dirs::config_file() {
                Some(path) => (path, false),
                None => return Ok(Config::default()),
            },
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path),
            Err(error) if is_absent(&error) && !required => Ok(Config::default()),
            Err(error) => Err(CommandError::usage_because(
                format!("can't read the configuration {}", path.display()),
                error,
            )),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, CommandError> {
        toml::from_str(text).map_err(|error| {
            // The message alone: the full one shows the line, and a pattern may tell what a secret looks like.
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            CommandError::usage(format!("{}, line {line}: {}", path.display(), error.message().trim()))
                .hint("docs/redaction.md lists what the file may hold")
        })
    }
}

/// Whether there is no such file, be it that there is no such folder either.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl RedactConfig {
    /// The rules of the file, and the patterns of the command line.
    pub(crate) fn rules(self, patterns: &[String]) -> Rules {
        let from_file = self.patterns.into_iter().map(|pattern| (pattern.name, pattern.regex));
        let from_command_line = patterns.iter().map(|regex| ("custom".to_owned(), regex.clone()));
        Rules {
            disabled: self.disable,
            patterns: from_file.chain(from_command_line).collect(),
            keys: self.keys,
            allowed_keys: self.allow_keys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_changes_the_rules() {
        let text = "[redact]\ndisable = [\"jwt\"]\nkeys = [\"ssn\"]\nallow-keys = [\"csrf_token\"]\n\
                    [[redact.patterns]]\nname = \"card\"\nregex = '\\b4\\d{15}\\b'\n";
        let rules = Config::parse(text, Path::new("c.toml")).unwrap().redact.rules(&["x+".to_owned()]);
        assert_eq!(rules.disabled, ["jwt"]);
        assert_eq!(rules.keys, ["ssn"]);
        assert_eq!(rules.allowed_keys, ["csrf_token"]);
        assert_eq!(rules.patterns.len(), 2);
        assert_eq!(rules.patterns[1].0, "custom");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error = Config::parse("\n[redact]\nkyes = []\n", Path::new("c.toml")).unwrap_err();
        assert!(error.to_string().contains("c.toml, line 3: unknown field `kyes`"), "{error}");
    }
}
