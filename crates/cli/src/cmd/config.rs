//! `brickyard config`: print or check the server's configuration, make password hashes.

use crate::settings::SettingsArguments;
use anyhow::Context as _;
use brickyard_server::config::{hash_password, print};
use clap::{Args, Subcommand};
use std::io::{BufRead as _, IsTerminal as _, Write as _, stdin, stdout};
use std::process::ExitCode;

/// What `brickyard config` takes.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print every setting with value, unit, origin and reason, as a file that can be used.
    Print(SettingsArguments),
    /// Check the settings and say what is wrong with them, all at once.
    Check(SettingsArguments),
    /// Read a password from standard input and print its hash for `password_hash` of a [[user]].
    HashPassword,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.action {
        Action::Print(settings) => {
            let text = print(&settings.load()?);
            stdout()
                .write_all(text.as_bytes())
                .context("cannot write to standard output")?;
        }
        Action::Check(settings) => {
            let loaded = settings.load()?;
            for warning in &loaded.warnings {
                eprintln!("warning: {warning}");
            }
            println!("the configuration is valid");
        }
        Action::HashPassword => {
            let password = read_password()?;
            let hash = hash_password(password.as_bytes()).map_err(anyhow::Error::msg)?;
            println!("{hash}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read_password() -> anyhow::Result<String> {
    let input = stdin();
    let hidden = input.is_terminal().then(Hidden::start).flatten();
    let mut line = String::new();
    input
        .lock()
        .read_line(&mut line)
        .context("cannot read the password from standard input")?;
    drop(hidden);
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hidden(rustix::termios::Termios);

impl Hidden {
    fn start() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &silent).ok()?;
        eprint!("Password: ");
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        eprintln!();
        // Nothing can be done if the terminal is gone.
        let _ = rustix::termios::tcsetattr(stdin(), rustix::termios::OptionalActions::Now, &self.0);
    }
}
