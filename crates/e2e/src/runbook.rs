//! A page's shell blocks, run as they are written.
//!
//! In:  a page, the heading of one of its sections, a folder, what the page leaves to its reader as variables. Out: nothing; or the
//!      block that failed, or did not say what the page shows, with what it said.
//!
//! A fence of `sh` is run; a fence of `text` right after it shows what it says. There `...` stands for anything: alone on a line for any
//! lines, else for any part of a line; how many blanks there are between two words does not count.
//!
//! Invariants:
//! - All blocks run in one shell (`bash -euo pipefail`), in their order, as one would paste them into a terminal.
//! - Whatever they started ends with the run: the shell has a process group of its own.

use crate::deadline::try_wait_for;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Stands for anything in what a page shows.
const ANYTHING: &str = "...";

/// A block that is run.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Of the page, where it begins.
    line: usize,
    script: String,
    /// What it says, if the page shows that.
    shown: Option<String>,
}

/// The blocks of a section.
#[derive(Debug, PartialEq, Eq)]
pub struct Runbook(Vec<Step>);

impl Runbook {
    /// Reads the section under a heading, such as `## Start`, up to the next one that is not below it.
    ///
    /// # Panics
    /// If there is no such section, or no block to run in it.
    #[must_use]
    pub fn of(page: &str, heading: &str) -> Self {
        let level = heading.bytes().take_while(|&byte| byte == b'#').count();
        let ends = |line: &str| {
            let depth = line.bytes().take_while(|&byte| byte == b'#').count();
            depth > 0 && depth <= level && line.as_bytes().get(depth) == Some(&b' ')
        };
        let mut lines = page.lines().enumerate().map(|(at, line)| (at + 1, line));
        let is_there = lines.any(|(_, line)| line == heading);
        assert!(is_there, "the page has no line {heading:?}");
        let mut steps: Vec<Step> = Vec::new();
        // Whether the last block may be followed by what it shows.
        let mut is_open = false;
        while let Some((at, line)) = lines.next() {
            if ends(line) {
                break;
            }
            let Some(kind) = line.strip_prefix("```") else {
                is_open &= line.is_empty();
                continue;
            };
            let block = lines.by_ref().map(|(_, line)| line);
            let block = block.take_while(|&line| line != "```");
            let block: String = block.flat_map(|line| [line, "\n"]).collect();
            match kind {
                "sh" => steps.push(Step {
                    line: at,
                    script: block,
                    shown: None,
                }),
                "text" if is_open => {
                    let step = steps.last_mut().expect("a block is open");
                    step.shown = Some(block);
                }
                _ => {}
            }
            is_open = kind == "sh";
        }
        assert!(!steps.is_empty(), "nothing to run below {heading:?}");
        Self(steps)
    }

    /// Runs all blocks in `folder`, where `brickyard` is found in the folder `programs`.
    ///
    /// # Panics
    /// If a block fails, does not say what is shown, or all of them take longer than `patience`.
    pub fn run(
        &self,
        folder: &Path,
        programs: &Path,
        variables: &[(&str, &str)],
        patience: Duration,
    ) {
        let outputs = tempfile::tempdir().expect("a temporary folder");
        let output = |number: usize| outputs.path().join(number.to_string());
        let mut script = String::new();
        for (number, step) in self.0.iter().enumerate() {
            let _ = writeln!(script, "exec >'{}' 2>&1", output(number).display());
            script += &step.script;
        }
        let file = outputs.path().join("script");
        fs::write(&file, script).expect("the script is written");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BRICKYARD_") {
                command.env_remove(name);
            }
        }
        command
            .args(["-euo", "pipefail"])
            .arg(&file)
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", programs.display()))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let mut group = Group(command.spawn().expect("bash can be started"));
        let is_over = try_wait_for(patience, || group.is_over().then_some(())).is_some();
        let status = group.end().filter(|_| is_over);
        drop(group);

        let said = |number: usize| fs::read_to_string(output(number)).ok();
        for (number, step) in self.0.iter().enumerate() {
            let Some(said) = said(number) else { break };
            let is_last = !output(number + 1).exists();
            let told = || {
                format!(
                    "the block of line {}:\n{}---\n{said}",
                    step.line, step.script
                )
            };
            if is_last {
                let ended = match status {
                    Some(status) => format!("ended with {status}"),
                    None => format!("had not ended after {patience:?}"),
                };
                let is_over = number + 1 == self.0.len() && status.is_some_and(|it| it.success());
                assert!(is_over, "it {ended} in {}", told());
            }
            if let Some(shown) = &step.shown {
                assert!(
                    shows(shown, &said),
                    "this is not what the page shows:\n{shown}--- but {}",
                    told()
                );
            }
        }
    }
}

/// A shell and all that it started.
struct Group(Child);

impl Group {
    /// Whether the shell has ended. It is left as it is: as long as nobody has waited for it, no other group has its number.
    fn is_over(&self) -> bool {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let shell = Pid::from_child(&self.0);
        waitid(WaitId::Pid(shell), ended).is_ok_and(|it| it.is_some())
    }

    /// Ends the shell and what it left behind.
    fn end(&mut self) -> Option<ExitStatus> {
        let _gone = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        self.0.wait().ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            self.end();
        }
    }
}

/// Whether somebody who was shown this finds it in what was said.
fn shows(shown: &str, said: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.split_whitespace());
        lines
            .map(|line| line.collect::<Vec<_>>().join(" "))
            .collect()
    };
    lines_match(&words(shown), &words(said))
}

fn lines_match(shown: &[String], said: &[String]) -> bool {
    match shown {
        [] => said.is_empty(),
        [first, rest @ ..] if first == ANYTHING => {
            (0..=said.len()).any(|skipped| lines_match(rest, &said[skipped..]))
        }
        [first, rest @ ..] => match said {
            [line, others @ ..] => line_matches(first, line) && lines_match(rest, others),
            [] => false,
        },
    }
}

fn line_matches(shown: &str, said: &str) -> bool {
    let Some((before, behind)) = shown.split_once(ANYTHING) else {
        return shown == said;
    };
    let Some(said) = said.strip_prefix(before) else {
        return false;
    };
    let mut starts = said.char_indices().map(|(at, _)| at).chain([said.len()]);
    starts.any(|at| line_matches(behind, &said[at..]))
}

#[cfg(test)]
#[path = "runbook_test.rs"]
mod runbook_test;
