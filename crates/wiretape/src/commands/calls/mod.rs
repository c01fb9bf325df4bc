//! `wiretape calls`: requests with their outcomes, from traces or from the store.

mod command;
mod of_store;
mod of_traces;
mod row;

pub(crate) use command::{CallsArgs, run};
pub(crate) use row::{CallJson, status_cell};
