//! `wiretape verify`: a trace as a test of a server.

mod command;
mod json_view;
mod junit;
mod report;
mod text_view;

pub(crate) use command::{VerifyArgs, run};
