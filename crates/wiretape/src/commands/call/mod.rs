//! `wiretape call`: one call whole.

mod command;
mod parts;
mod view;

pub(crate) use command::{CallArgs, run};
