//! `wiretape call`: one call in full.

mod command;
mod parts;
mod view;

pub(crate) use command::{CallArgs, run};
