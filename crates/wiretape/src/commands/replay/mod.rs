//! `wiretape replay`: a trace as an MCP server.

mod command;
mod json_report;
mod junit;
mod outcome;

pub(crate) use command::{RecordingFiles, ReplayArgs, check_report, report_damage, run};
