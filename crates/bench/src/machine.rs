//! On what, when and how something was measured.
//!
//! In:  /proc, the directory of the servers' data. Out: a [`Machine`], as lines for a page or as JSON (serde).

use crate::process::{CLIENT_CORE, SERVER_CORE, can_pin, cores};
use serde::{Deserialize, Serialize};
use std::{fs, path::Path, process::Command};

/// A machine, as it was on a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The day, as `2026-11-27`.
    pub day: String,
    /// The name that its processor has for itself.
    pub processor: String,
    /// How many cores.
    pub cores: usize,
    /// Whether it is a guest of another.
    pub is_virtual: bool,
    /// The version of Linux.
    pub kernel: String,
    /// Which work has which core.
    pub pinning: String,
    /// The kind of file system under the servers' data.
    pub file_system: String,
    /// Processes that wanted to run, on average over the last minute.
    pub load: String,
}

impl Machine {
    /// This one, now, with data in `dir`.
    #[must_use]
    pub fn here(dir: &Path) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            day: today(),
            processor: field("model name").unwrap_or_else(|| "an unnamed processor".to_owned()),
            cores: cores(),
            is_virtual: field("flags").is_some_and(|flags| flags.contains(" hypervisor")),
            kernel: kernel.trim().to_owned(),
            pinning: if can_pin() {
                format!("server on core {SERVER_CORE}, client on core {CLIENT_CORE}")
            } else {
                "server and client share the only core".to_owned()
            },
            file_system: file_system(dir),
            load: (load.split_ascii_whitespace().next())
                .unwrap_or("unknown")
                .to_owned(),
        }
    }

    /// A paragraph of Markdown, with the command that measured.
    #[must_use]
    pub fn describe(&self, command: &str) -> String {
        format!("{}.\n\n    {command}\n", self.sentence())
    }

    /// All of it in one sentence, without its full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let guest = if self.is_virtual { ", virtual" } else { "" };
        format!(
            "Measured {} on {} cores of {}{guest}, Linux {}; {}; data on {}; load of the machine at the end: {}",
            self.day,
            self.cores,
            self.processor,
            self.kernel,
            self.pinning,
            self.file_system,
            self.load,
        )
    }
}

fn today() -> String {
    Command::new("date")
        .args(["--utc", "+%Y-%m-%d"])
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// The kind of file system that `dir` is on: the mount point that is the longest prefix of it.
fn file_system(dir: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let point = fields.next()?;
            dir.starts_with(point)
                .then_some((point.len(), fields.next()?))
        })
        .max_by_key(|(len, _)| *len)
        .map_or_else(
            || "an unknown file system".to_owned(),
            |(_, kind)| kind.to_owned(),
        )
}
