//! Running a proxy: listeners, workers, signals, the admin port.

mod admin;
mod metrics;
mod process;
pub(crate) mod server;
