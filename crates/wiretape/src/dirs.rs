//! Where things lie on this machine.

use crate::error::CommandError;
use etcetera::BaseStrategy as _;
use std::path::PathBuf;

/// Overrides where Wiretape keeps its data.
pub(crate) const DATA_DIR_VARIABLE: &str = "WIRETAPE_DATA_DIR";

/// Where Wiretape keeps its data: `WIRETAPE_DATA_DIR`, otherwise `wiretape` in the user's data directory.
pub(crate) fn data_dir() -> Result<PathBuf, CommandError> {
    if let Some(dir) = std::env::var_os(DATA_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    let base = etcetera::choose_base_strategy().map_err(|error| {
        CommandError::because("can't tell where your data directory is", error)
            .hint(format!("set {DATA_DIR_VARIABLE} to a directory"))
    })?;
    Ok(base.data_dir().join("wiretape"))
}

/// Where traces are kept, unless the user says otherwise.
pub(crate) fn traces_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("traces"))
}

/// What was read of traces, so that listing them is fast. Can be deleted at any time.
pub(crate) fn index_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("index"))
}

/// The store, unless the user says otherwise.
pub(crate) fn store_file() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("store.db"))
}

/// Where events wait for the webhook, unless the user says otherwise.
pub(crate) fn spool_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("spool"))
}

/// Where the certificate authority is kept.
pub(crate) fn ca_dir() -> Result<PathBuf, CommandError> {
    Ok(data_dir()?.join("ca"))
}

/// The user's configuration file, whether or not it is there.
pub(crate) fn config_file() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os(DATA_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
        return Some(PathBuf::from(dir).join("config.toml"));
    }
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("wiretape").join("config.toml"))
}
