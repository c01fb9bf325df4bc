//! `wiretape man`: the manual pages.

use crate::cli;
use crate::error::CommandError;
use clap::Args;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Print the manual page, or write one page per command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape man | man -l -
  wiretape man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page per command to DIR, which is created if missing
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> Result<(), CommandError> {
    match &args.dir {
        Some(dir) => write_pages(dir),
        None => {
            // Into memory first, so that a closed pipe is one write error and not a truncated page.
            let mut page = Vec::new();
            clap_mangen::Man::new(cli::command()).render(&mut page)?;
            Ok(std::io::stdout().write_all(&page)?)
        }
    }
}

fn write_pages(dir: &Path) -> Result<(), CommandError> {
    let failed = |error| CommandError::because(format!("can't write to {}", dir.display()), error);
    fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(cli::command(), dir).map_err(failed)
}
