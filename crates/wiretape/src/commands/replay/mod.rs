//! `wiretape replay`: a trace as an MCP server.

mod command;
mod json_report;
mod junit;
mod outcome;

pub(crate) use command::{Recorded, ReplayArgs, check_report, run, tell_damage};
