//! The commands, a file each: its arguments and its code.

pub(crate) mod ca;
pub(crate) mod clients;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod logs;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod proxy;
pub(crate) mod prune;
pub(crate) mod record;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod slow;
pub(crate) mod stats;
pub(crate) mod store;
