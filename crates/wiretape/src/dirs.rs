//! The directories and files that Wiretape uses on this machine: those of the platform's conventions (XDG, or Known
//! Folders), unless `WIRETAPE_DATA_DIR` puts everything into one directory. Nothing is created here.

use crate::error::CommandError;
use etcetera::BaseStrategy as _;
use std::path::PathBuf;

/// Overrides the data directory.
pub(crate) const DATA_DIR_VARIABLE: &str = "WIRETAPE_DATA_DIR";

/// The data directory: `WIRETAPE_DATA_DIR`, or `wiretape` in the user's data directory.
pub(crate) fn data_dir() -> Result<PathBuf, CommandError> {
    if let Some(dir) = std::env::var_os(DATA_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
        // Empty counts as unset: `WIRETAPE_DATA_DIR=` in a script must not mean the current directory.
        return Ok(dir.into());
    }
    let base = etcetera::choose_base_strategy().map_err(|error| {
        CommandError::because("can't find your data directory", error)
            .hint(format!("set {DATA_DIR_VARIABLE} to a directory"))
    })?;
    Ok(base.data_dir().join("wiretape"))
}

/// The default directory of traces.
pub(crate) fn traces_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("traces"))
}

/// The index of traces, which makes listing fast. It can be deleted at any time.
pub(crate) fn index_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("index"))
}

pub(crate) fn store_file() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("store.db"))
}

/// The default spool for events that wait for the webhook.
pub(crate) fn spool_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("spool"))
}

/// The directory of the certificate authority.
pub(crate) fn ca_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("ca"))
}

/// The path of the user's configuration file, which may not exist. An overridden data directory also holds the
/// configuration, so that a test or a sandbox never reads the user's own.
pub(crate) fn config_file() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os(DATA_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
        return Some(PathBuf::from(dir).join("config.toml"));
    }
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("wiretape").join("config.toml"))
}
