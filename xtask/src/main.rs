//! All developer tasks of this repository besides `cargo build`. `cargo xtask` lists them.
//!
//! | module | holds |
//! |---|---|
//! | [`tasks`] | the checks and the tests, and their order in CI |
//! | [`cross`] | type-checking for other platforms |
//! | [`modules`] | the order of the HTTP proxy's layers |
//! | [`dist`] | builds the program to give to others |
//! | [`parts`] | installs the real servers, SDKs and proxies that tests and benchmarks need |
//! | [`mod@bench`] | the benchmarks and their table |
//! | [`page`] | copies the built page into its crate, for packaging |
//! | [`shapes`] | generates the schemas that lint validates against |
//! | [`sh`] | running commands |

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task tells the terminal what it does")]

mod bench;
mod cross;
mod dist;
mod failure;
mod modules;
mod page;
mod parts;
mod sh;
mod shapes;
mod tasks;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Result;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Run the tasks of this repository", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Run everything that CI runs, in its order, and stop at the first failure
    Ci,
    /// Check the format of the code
    Fmt,
    /// Lint all code, warnings denied
    Clippy,
    /// Build the documentation, warnings denied
    Doc,
    /// Check licenses, sources, layering and (where reachable) advisories of all dependencies
    Deny,
    /// Check that the HTTP proxy's modules form layers
    Modules,
    /// Type-check for Windows and macOS
    Cross,
    /// Install what the tests need, then run all of them
    Test,
    /// Only install what the tests need
    Setup,
    /// Run every fuzz target briefly
    Fuzz {
        /// How long each target runs
        #[arg(long, value_name = "SECONDS", default_value_t = tasks::FUZZ_SECONDS)]
        seconds: u32,
    },
    /// Copy the schemas that lint validates against from the crate that contains them
    Shapes,
    /// Build the page into its crate, for `cargo package`
    Page,
    /// Build the program for distribution: without paths of this machine, and with the list of its dependencies
    Dist,
    /// Measure the recorder and the proxy against their targets
    Bench(bench::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Option<Task>) -> Result {
    match task {
        None => Ok(Arguments::command().print_help()?),
        Some(Task::Ci) => tasks::ci(),
        Some(Task::Fmt) => tasks::fmt(),
        Some(Task::Clippy) => tasks::clippy(),
        Some(Task::Doc) => tasks::doc(),
        Some(Task::Deny) => {
            if let Some(note) = tasks::deny()? {
                println!("deny passed ({note})");
            }
            Ok(())
        }
        Some(Task::Modules) => modules::check(),
        Some(Task::Cross) => cross::check(),
        Some(Task::Test) => tasks::test(),
        Some(Task::Setup) => parts::install().map(drop),
        Some(Task::Fuzz { seconds }) => tasks::fuzz(seconds),
        Some(Task::Shapes) => shapes::generate(),
        Some(Task::Page) => page::build(),
        Some(Task::Dist) => dist::build(),
        Some(Task::Bench(options)) => bench::run(&options),
    }
}
