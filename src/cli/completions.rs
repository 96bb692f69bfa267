//! `fieldtrial completions`: shell completion scripts.

use std::io::{self, Write};

use clap::Args;
use clap_complete::Shell;

use super::{Outcome, exit_code};

/// Print a completion script for a shell
///
/// Bash: `fieldtrial completions bash > ~/.local/share/bash-completion/completions/fieldtrial`
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Prints the completion script; `command` defines all subcommands and options of the program.
pub(super) fn completions(
    arguments: &CompletionsArguments,
    command: &mut clap::Command,
) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "fieldtrial", &mut script);
    io::stdout().write_all(&script)?;
    Ok(exit_code::GOOD)
}
