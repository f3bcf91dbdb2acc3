//! The crates that have mutants, and whose tests judge those.

use std::collections::BTreeSet;

/// Those that keep the promises.
pub(super) const CRATES: [&str; 5] = ["replication", "control", "store", "consensus", "brick"];

/// Who judges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judges {
    /// The tests of a crate alone.
    pub(super) is_own: bool,
}

impl Judges {
    /// The crates whose tests judge a crate: its own, which has to be first, and others, the quick ones first.
    pub(super) fn of(self, krate: &str) -> &'static [&'static str] {
        let all: &[&str] = match krate {
            "replication" => &["replication", "node", "sim", "brick"],
            "control" => &["control", "node", "sim"],
            "store" => &["store", "node", "sim"],
            "consensus" => &["consensus", "node", "sim"],
            _ => &["brick", "node", "sim"],
        };
        if self.is_own { &all[..1] } else { all }
    }

    /// The same of several.
    pub(super) fn of_all(self, crates: &BTreeSet<&str>) -> BTreeSet<&'static str> {
        let judges = crates.iter().flat_map(|it| self.of(it));
        judges.copied().collect()
    }
}
