//! Waiting for what may never end.
//!
//! In:  a program, begun in a process group of its own ([`groups`]). Out: its status, or that it was ended with all that it began.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Gives a program a process group of its own.
pub(crate) fn groups(program: &mut Command) {
    program.process_group(0);
}

/// Waits; `None`: it took too long, and was ended.
pub(crate) fn wait(mut child: Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > patience {
            end(child.id())?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Ends a program and its children: some tests begin programs.
pub(crate) fn end(group: u32) -> io::Result<()> {
    let group = format!("-{group}");
    Command::new("kill")
        .args(["-KILL", "--", &group])
        .status()?;
    Ok(())
}
