//! `wiretape lint`: where a trace violates the specification.

mod command;
mod explain;
mod json_view;
mod junit;
mod outcome;
mod sarif;
mod text_view;

pub(crate) use command::{LintArgs, run};
