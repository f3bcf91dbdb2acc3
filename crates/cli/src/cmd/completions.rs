//! `brickyard completions`: a completion script for a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// What `brickyard completions` takes.
#[derive(Args, Debug)]
#[command(after_help = "Example: brickyard completions bash > /etc/bash_completion.d/brickyard")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments, command: &mut Command) -> anyhow::Result<ExitCode> {
    // Rendered first: the generator panics on a closed pipe, write_all reports it.
    let mut script = Vec::new();
    generate(arguments.shell, command, "brickyard", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
