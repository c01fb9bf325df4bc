//! The `wiretape` binary: parses arguments and configuration, calls the library crates, and prints. It is the only
//! crate that reads the environment, writes to the terminal and exits; whatever can be tested without those is in a
//! library.

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
mod text;
mod trace_file;
mod units;
mod url_arg;
mod words;

fn main() {
    cli::main().exit()
}
