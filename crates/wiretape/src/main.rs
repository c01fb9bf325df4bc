//! The `wiretape` binary: arguments in, library calls, text out.

mod ask;
mod calls;
mod catalog;
mod cli;
mod commands;
mod config;
mod difference_view;
mod dirs;
mod draft;
mod error;
mod events;
mod exit_code;
mod json;
mod junit;
mod output;
mod proxy_config;
mod recordings;
mod redaction;
mod sample_server;
mod selector;
mod shelf;
mod store_feed;
mod text;
mod trace_file;
mod units;
mod words;

fn main() {
    cli::main().exit()
}
