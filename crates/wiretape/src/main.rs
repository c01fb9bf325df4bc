//! The `wiretape` binary: arguments in, library calls, text out.

mod ask;
mod calls;
mod cli;
mod commands;
mod config;
mod difference_view;
mod dirs;
mod error;
mod events;
mod exit_code;
mod json;
mod junit;
mod names;
mod output;
mod proxy_config;
mod redaction;
mod sample_server;
mod selector;
mod store_feed;
mod text;
mod trace_file;
mod units;
mod url_arg;
mod words;

fn main() {
    cli::main().exit()
}
