//! `wiretape completions`: shell completions.

use crate::cli;
use crate::error::CommandError;
use clap::Args;
use clap_complete::Shell;
use std::io::Write as _;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape completions bash > ~/.local/share/bash-completion/completions/wiretape
  wiretape completions zsh > ~/.zfunc/_wiretape
  wiretape completions fish > ~/.config/fish/completions/wiretape.fish
  wiretape completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CommandError> {
    // Into memory first: `clap_complete` panics if it can't write, and a closed pipe must not panic.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "wiretape", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
