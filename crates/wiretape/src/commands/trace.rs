//! `wiretape trace`: commands under the names in Assay's documentation, so that scripts written for it run.

use super::import::{ImportSettings, import_file};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Import a transcript, with Assay's command line
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    ImportMcp(Box<ImportMcpArgs>),
}

/// Import a transcript of another program as a trace, like `wiretape import`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  wiretape trace import-mcp --input session.json --format http-sse --out-trace session.trace.jsonl

Run `wiretape import --help` for the list of formats.")]
struct ImportMcpArgs {
    /// The transcript, plain or compressed (.gz, .zst); `-` for standard input
    #[arg(long, value_name = "FILE")]
    input: PathBuf,

    #[command(flatten)]
    settings: ImportSettings,
}

pub(crate) fn run(args: &TraceArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        TraceCommand::ImportMcp(import) => import_file(&import.input, &import.settings),
    }
}
