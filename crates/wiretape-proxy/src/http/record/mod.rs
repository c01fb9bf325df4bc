//! What is recorded of an exchange: its heads, its messages, its end.

pub(crate) mod body_budget;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod exchange;
pub(crate) mod heads;
pub(crate) mod recorder;
mod redaction;
pub(crate) mod resource_requests;
pub(crate) mod streams;
pub(crate) mod tap;
pub(crate) mod traces;
