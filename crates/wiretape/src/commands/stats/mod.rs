//! `wiretape stats`: calls, failures and latencies, by tool.

mod command;
mod json;
mod of_store;
mod of_traces;
mod table;

pub(crate) use command::{StatsArgs, run};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatsFormat {
    Text,
    Json,
}
