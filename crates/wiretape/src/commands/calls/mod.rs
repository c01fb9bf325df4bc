//! `wiretape calls`: each request with what became of it, by traces or by the store.

mod command;
mod of_store;
mod of_traces;
mod row;

pub(crate) use command::{CallsArgs, run};
pub(crate) use row::{CallJson, status_cell};
