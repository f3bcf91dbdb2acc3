//! `brickyard man`: the manual, made from the same definitions as `--help`.

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;
use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

/// What `brickyard man` takes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  brickyard man | man --local-file -\n  \
                        brickyard man --dir /usr/local/share/man/man1")]
pub(crate) struct Arguments {
    /// Write one page for the program and one for every subcommand into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the program's page, or writes all pages.
pub(crate) fn run(arguments: &Arguments, command: Command) -> anyhow::Result<ExitCode> {
    let Some(dir) = &arguments.dir else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        io::stdout().write_all(&page)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("cannot write into {}", dir.display()))?;
    eprintln!("wrote the pages into {}", dir.display());
    Ok(ExitCode::SUCCESS)
}
