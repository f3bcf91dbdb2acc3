//! What this machine can do, in figures.
//!
//! In:  measurements (`device`, `trial`), the operating system. Out: values, also as JSON.

use anyhow::Context as _;
use brickyard_types::{Durability, Medium};
use rustix::{fs::statvfs, system::sysinfo};
use serde::Serialize;
use std::path::Path;

/// What was measured, and what there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MachineFigures {
    /// Memory of the machine, in bytes.
    pub(crate) memory_bytes: u64,
    /// What is free on the disk of the directory.
    pub(crate) disk_free_bytes: u64,
    /// The disk by itself.
    pub(crate) device: DeviceFigures,
    /// A node's tables.
    pub(crate) trials: Vec<TrialFigures>,
}

/// What the disk does, without a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct DeviceFigures {
    /// Bytes a second that are appended, syncs left out.
    pub(crate) append_per_s: f64,
    /// How long a write of 4 KiB and its fdatasync take, on average.
    pub(crate) sync_us: f64,
    /// The same in a second, 64 KiB at a time: what a log gains by writing together what comes together.
    pub(crate) synced_per_s: f64,
    /// How long a read takes of as much as a value, from anywhere in a file.
    pub(crate) random_read_us: f64,
    /// Bytes a second that are read in order.
    pub(crate) sequential_per_s: f64,
    /// Whether reads went round the page cache; otherwise they may have been answered by it.
    pub(crate) is_direct: bool,
}

/// What a table of a node of one brick does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct TrialFigures {
    pub(crate) medium: Medium,
    pub(crate) durability: Durability,
    /// From a client's request to its reply, one at a time, on average. Of a `disk` table: of a value that is not in its memory, and may be
    /// in the page cache.
    pub(crate) read_us: f64,
    pub(crate) write_us: f64,
    /// Operations a second in the workload's mix, as many clients at a time as there are of any use.
    pub(crate) mixed_per_s: f64,
}

impl MachineFigures {
    /// The trial of one kind of table.
    pub(crate) fn trial(&self, medium: Medium, durability: Durability) -> Option<&TrialFigures> {
        let mut trials = self.trials.iter();
        trials.find(|it| (it.medium, it.durability) == (medium, durability))
    }
}

/// The kinds of tables that there can be; a `disk` table has a log.
pub(crate) const KINDS: [(Medium, Durability); 5] = [
    (Medium::Ram, Durability::Memory),
    (Medium::Ram, Durability::Log),
    (Medium::Ram, Durability::Fsync),
    (Medium::Disk, Durability::Log),
    (Medium::Disk, Durability::Fsync),
];

/// Memory of the machine, in bytes.
pub(crate) fn memory_bytes() -> u64 {
    let told = sysinfo();
    #[expect(
        clippy::useless_conversion,
        reason = "the field's type differs between systems; on 64-bit ones it is this"
    )]
    let total = u64::from(told.totalram);
    total.saturating_mul(u64::from(told.mem_unit))
}

/// Bytes that are free where a directory is.
pub(crate) fn disk_free_bytes(dir: &Path) -> anyhow::Result<u64> {
    let told = statvfs(dir).with_context(|| format!("cannot see how full {} is", dir.display()))?;
    Ok(told.f_bavail * told.f_frsize)
}

#[cfg(test)]
mod machine_test {
    use super::*;

    #[test]
    fn a_table_on_disk_has_a_log() {
        assert!(!KINDS.contains(&(Medium::Disk, Durability::Memory)));
    }
}
