//! `wiretape diff`: the differences between the calls of two traces.
//!
//! Both traces are read twice: once to align the calls, and once more for the messages of calls that differ.

mod command;
mod json_view;
mod rows;
mod text_view;

pub(crate) use command::{DiffArgs, Slower, parse_pattern, parse_slower, run};
pub(crate) use json_view::definition;
