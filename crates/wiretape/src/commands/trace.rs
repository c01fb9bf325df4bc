//! `wiretape trace`: commands under the names that Assay's documentation gives them, so that scripts written for it run.

use super::import::{ImportSettings, import_file};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Import a transcript, with the command line of Assay
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    ImportMcp(Box<ImportMcpArgs>),
}

/// Import a transcript of another program as a trace, as `wiretape import` does
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  wiretape trace import-mcp --input session.json --format http-sse --out-trace session.trace.jsonl

`wiretape import --help` lists the formats.")]
struct ImportMcpArgs {
    /// The transcript, plain or as .gz or .zst; `-` for standard input
    #[arg(long, value_name = "FILE")]
    input: PathBuf,

    #[command(flatten)]
    settings: ImportSettings,
}

/// Runs the command.
pub(crate) fn run(args: &TraceArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        TraceCommand::ImportMcp(import) => import_file(&import.input, &import.settings),
    }
}
