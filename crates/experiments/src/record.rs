//! What stands beside an experiment's data: on what, when and how it was measured.
//!
//! In:  a run that has ended, or a file of before. Out: a file of JSON.

use anyhow::Context as _;
use brickyard_bench::machine::Machine;
use serde::{Deserialize, Serialize};
use std::{fs, path::Path};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// As in `E6`.
    pub(crate) experiment: String,
    /// The machine.
    pub(crate) machine: Machine,
    /// The version of the program that served.
    pub(crate) program: String,
    /// The commit of the sources that the command was run in, if it was run in any.
    pub(crate) commit: Option<String>,
    /// Whether it was a run of seconds, to see that all works.
    pub(crate) is_quick: bool,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// Interleaved rounds.
    pub(crate) rounds: u32,
    /// Peers that took part, with their versions.
    pub(crate) peers: Vec<String>,
    /// What could not take part, and how to get it.
    pub(crate) missing: Vec<Missing>,
}

/// What this machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missing {
    /// What.
    pub(crate) name: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl Record {
    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// If the file is not there or is something else.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| {
            format!(
                "{} is no record of an experiment; run it again with --again",
                path.display()
            )
        })
    }
}
