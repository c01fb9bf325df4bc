//! `wiretape diff`: how the calls of one trace differ from those of another.
//!
//! Both are read twice: once to put the calls side by side, and once more for the messages of those that differ.

mod command;
mod json_view;
mod rows;
mod text_view;

pub(crate) use command::{DiffArgs, Slower, parse_pattern, parse_slower, run};
pub(crate) use json_view::definition;
