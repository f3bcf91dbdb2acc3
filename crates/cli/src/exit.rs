//! Exit codes, and how a failure is told.
//!
//! In:  the error that ended a subcommand. Out: a line on standard error and an [`ExitCode`].

use std::{io, process::ExitCode};

/// The failure codes, for the end of `--help` and the manual.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  failed; standard error says what, where and what to do
  2  the command line is wrong
  3  done, but some records were bad or refused; the summary counts them
  4  status: something is down, damaged, not served or short of copies;
     table digest: replicas differ, or could not be compared;
     torture, sim: clients or checkers saw something that must not be";

/// The work was done but for some records.
pub(crate) const INCOMPLETE: u8 = 3;

/// The cluster answers, and is not as it should be.
pub(crate) const NOT_WHOLE: u8 = 4;

const FAILED: u8 = 1;

/// Tells the error and chooses the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_closed_output(error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("brickyard: {}", message(error));
    ExitCode::from(FAILED)
}

/// The error and its causes, each said once: many errors quote their cause in words of their own.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// `brickyard dump | head` ends when head has seen enough: nothing is wrong. A server that went away
/// breaks a pipe too, but that is an error of the connection.
fn is_closed_output(error: &anyhow::Error) -> bool {
    let is_of_connection = error
        .chain()
        .any(|cause| cause.is::<brickyard_bench::Error>());
    let is_broken_pipe = error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    });
    is_broken_pipe && !is_of_connection
}

#[cfg(test)]
#[path = "exit_test.rs"]
mod exit_test;
