//! The lines that say on what, when and how a table was measured.

use crate::process::{CLIENT_CORE, SERVER_CORE, can_pin};
use std::{fs, path::Path, process::Command};

/// A paragraph of Markdown.
pub(crate) fn describe(command: &str, dir: &Path) -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = cpuinfo
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let virtual_machine = if field("flags").is_some_and(|flags| flags.contains(" hypervisor")) {
        ", virtual"
    } else {
        ""
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let pinning = if can_pin() {
        format!("server on core {SERVER_CORE}, client on core {CLIENT_CORE}")
    } else {
        "server and client share the only core".to_owned()
    };
    format!(
        "Measured {} on {cores} cores of {}{virtual_machine}, Linux {}; {pinning}; data on {}; \
         load of the machine at the end: {}.\n\n    {command}\n",
        today(),
        field("model name").unwrap_or_else(|| "an unnamed processor".to_owned()),
        kernel.trim(),
        file_system(dir),
        fs::read_to_string("/proc/loadavg")
            .unwrap_or_default()
            .split_ascii_whitespace()
            .next()
            .unwrap_or("unknown"),
    )
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
