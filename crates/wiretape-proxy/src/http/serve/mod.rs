//! Running a proxy: listeners, workers, signals, the admin port.

mod admin;
pub(crate) mod draining;
mod process;
pub(crate) mod server;
