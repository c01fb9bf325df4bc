//! The redactor of this installation: the user's rules, and the key that markers are hashed with.

use crate::config::RedactConfig;
use crate::error::CommandError;
use crate::{dirs, output};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use wiretape_library::private;
use wiretape_trace::redact::{RedactionKey, Redactor};

/// The key's file in the data directory.
const KEY_FILE: &str = "redaction.key";

/// The redactor that the configuration and the command line ask for.
pub(crate) fn redactor(config: RedactConfig, patterns: &[String]) -> Result<Redactor, CommandError> {
    // First the rules, then the key: a mistake in the rules must leave nothing behind.
    let rules = config.rules(patterns).compile();
    let rules = rules
        .map_err(|error| CommandError::usage(error).hint("docs/redaction.md explains rules and patterns"))?;
    Ok(rules.with_key(&installation_key()?))
}

/// The key of this installation, made on first use. If it can't be kept, one that lives as long as this process.
fn installation_key() -> Result<RedactionKey, CommandError> {
    let path = dirs::data_dir()?.join(KEY_FILE);
    match read_or_create(&path) {
        Ok(key) => Ok(key),
        Err(error) => {
            output::warn(format!(
                "can't keep a redaction key in {}: {error}; equal secrets will look different in other traces",
                path.display()
            ));
            random_key().map_err(|error| CommandError::because("the system gives no random numbers", error))
        }
    }
}

fn read_or_create(path: &Path) -> io::Result<RedactionKey> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path),
        other => other,
    }
}

fn read(path: &Path) -> io::Result<RedactionKey> {
    let bytes = fs::read(path)?;
    let key = <[u8; 32]>::try_from(&bytes[..]).map_err(|_| io::Error::other("it is not 32 bytes long"))?;
    Ok(RedactionKey::new(key))
}

/// Writes the key beside its place and moves it there, so that two recorders that start at once end up with one key.
fn create(path: &Path) -> io::Result<RedactionKey> {
    let dir = path.parent().unwrap_or(Path::new("."));
    private::create_dir(dir)?;
    let draft = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let linked = write_draft(&draft).and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => read(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(error),
    }
}

fn write_draft(draft: &Path) -> io::Result<()> {
    private::create_file(draft)?.write_all(&random_bytes()?)
}

fn random_key() -> io::Result<RedactionKey> {
    random_bytes().map(RedactionKey::new)
}

fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::redact::Rules;

    fn marker(key: &RedactionKey) -> Vec<u8> {
        Redactor::new(&Rules::default(), key).unwrap().json(br#"{"password":"x"}"#).unwrap().into_owned()
    }

    #[test]
    fn the_key_is_made_once_and_only_its_owner_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new").join(KEY_FILE);
        let first = marker(&read_or_create(&path).unwrap());
        assert_eq!(first, marker(&read_or_create(&path).unwrap()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_key_is_an_error_and_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(KEY_FILE);
        fs::write(&path, "short").unwrap();
        assert!(read_or_create(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }
}
