//! The options by which every client subcommand finds its server and signs in.
//!
//! In:  flags, environment, and a prompt. Out: a [`Target`].

use crate::tls::TlsArguments;
use anyhow::{Context, bail};
use brickyard_bench::Target;
use clap::Args;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::{
    env,
    io::{self, BufRead, IsTerminal, Write},
};

/// Where a node listens unless it is told otherwise.
pub(crate) const ADDRESS_DEFAULT: &str = "127.0.0.1:6379";

/// Who signs in, and to which table.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArguments {
    /// Table to work on; without it, the one that the server starts the user in
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// User to sign in as; the password comes from BRICKYARD_PASSWORD or from a prompt
    #[arg(long, value_name = "NAME", env = "BRICKYARD_USER")]
    user: Option<String>,
    /// Ask for a password (BRICKYARD_PASSWORD, if set, is used without asking)
    #[arg(long)]
    password: bool,
    #[command(flatten)]
    tls: TlsArguments,
}

impl TargetArguments {
    /// The server at `address`, with what its connections start with.
    pub(crate) fn target(&self, address: &str) -> anyhow::Result<Target> {
        let password = match env::var("BRICKYARD_PASSWORD") {
            Ok(password) => Some(password),
            Err(_) if self.password || self.user.is_some() => Some(ask_password(address)?),
            Err(_) => None,
        };
        Ok(Target {
            user: self.user.clone(),
            password,
            table: self.table.clone(),
            tls: self.tls.dialer()?,
            ..Target::resp(with_port(address))
        })
    }
}

/// A bare host name means the port that nodes listen on by default.
pub(crate) fn with_port(address: &str) -> String {
    let has_port = address
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if has_port && (!address.starts_with('[') || !address.ends_with(']')) {
        address.to_owned()
    } else {
        format!("{address}:6379")
    }
}

/// Reads a password from the terminal without showing it.
fn ask_password(address: &str) -> anyhow::Result<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        bail!(
            "{address} needs a password, but there is no terminal to ask on; set BRICKYARD_PASSWORD"
        );
    }
    eprint!("Password for {address}: ");
    io::stderr().flush()?;
    let shown = tcgetattr(&stdin).context("cannot read the terminal's settings")?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Now, &hidden).context("cannot hide what is typed")?;
    let mut line = String::new();
    let result = stdin.lock().read_line(&mut line);
    // First the terminal, then the result: a failed read must not leave it silent.
    tcsetattr(&stdin, OptionalActions::Now, &shown).context("cannot restore the terminal")?;
    eprintln!();
    result.context("cannot read the password")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
#[path = "target_test.rs"]
mod target_test;
