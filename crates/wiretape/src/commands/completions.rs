//! `wiretape completions`: what a shell needs to complete the command line.

use crate::cli;
use crate::error::CommandError;
use clap::Args;
use clap_complete::Shell;
use std::io::Write as _;

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape completions bash > ~/.local/share/bash-completion/completions/wiretape
  wiretape completions zsh > ~/.zfunc/_wiretape
  wiretape completions fish > ~/.config/fish/completions/wiretape.fish
  wiretape completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "wiretape", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
