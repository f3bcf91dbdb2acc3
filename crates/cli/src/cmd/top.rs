//! `brickyard top`: what a cluster is busy with, again and again.
//!
//! In:  a node. Out: a screen of nodes, tables, hot and big keys, slow commands.
//! The work is in `crate::top`.

use crate::{
    target::{ADDRESS_DEFAULT, TargetArguments},
    top::{collect::Collector, screen},
};
use anyhow::Context as _;
use clap::Args;
use rustix::termios::tcgetwinsize;
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
    thread,
    time::Duration,
};

const EXPLANATION: &str = "\
Rates of hot keys are by a sample of the last seconds; big keys are those that the bricks have passed on their walk over
the table. Both, and the list of nodes, need admin rights. Where the output is no terminal one look is printed.";

/// What `brickyard top` takes.
#[derive(Args, Debug)]
#[command(after_help = EXPLANATION)]
pub(crate) struct Arguments {
    /// Node to ask, HOST:PORT; it names the others
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT)]
    address: String,
    #[command(flatten)]
    target: TargetArguments,
    /// Time between two looks, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    every: f64,
    /// Look once, and end
    #[arg(long)]
    once: bool,
}

/// Shows one look after another.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let pause = Duration::try_from_secs_f64(arguments.every.max(0.1))
        .context("--every: choose a number of seconds")?;
    let mut collector = Collector::new(arguments.target.target(&arguments.address)?);
    let stdout = io::stdout();
    if arguments.once || !stdout.is_terminal() {
        let text = screen::render(&collector.look()?, None);
        stdout.lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let size = tcgetwinsize(&stdout).ok();
        let size = size.filter(|it| it.ws_row > 0 && it.ws_col > 0);
        let size = size.map(|it| (usize::from(it.ws_col), usize::from(it.ws_row)));
        let text = match collector.look() {
            Ok(look) => screen::render(&look, size),
            Err(error) => format!("{error:#}\n"),
        };
        let mut output = stdout.lock();
        // To the top of an empty screen.
        write!(output, "\x1b[H\x1b[2J{text}")?;
        output.flush()?;
        drop(output);
        thread::sleep(pause);
    }
}
