//! The test programs of a copy, as cargo says that it has built them.
//!
//! Run by themselves, not by `cargo test`: that one chooses the features of what is tested anew for each crate, and builds
//! again what has others.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A test program, and where it runs.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Program {
    /// It, where `cargo test` would run it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder);
        command
    }
}

/// What cargo said with `--message-format=json`, a message a line.
pub(crate) fn messages(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The programs of our crates, by crate.
pub(crate) fn programs(messages: &[Value], copy: &Path) -> BTreeMap<String, Program> {
    let programs = messages.iter().filter_map(|message| {
        let path = message["executable"].as_str()?;
        let name = message["target"]["name"].as_str()?;
        let name = name.strip_prefix("brickyard_")?.to_owned();
        let folder = copy.join("crates").join(&name);
        let path = path.into();
        Some((name, Program { path, folder }))
    });
    programs.collect()
}
