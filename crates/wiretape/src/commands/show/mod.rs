//! `wiretape show`: the messages of a trace, one per line.

mod command;
mod filter;
mod item;
mod json_view;
mod text_view;

pub(crate) use command::{ShowArgs, run};
