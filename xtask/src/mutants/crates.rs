//! The crates that have mutants, and who judges those.

use std::collections::BTreeSet;

/// Those that keep the promises.
pub(super) const CRATES: [&str; 5] = ["replication", "control", "store", "consensus", "brick"];

/// Tests of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Judge {
    /// As the results and the page call it.
    pub(super) name: &'static str,
    pub(super) krate: &'static str,
    /// Those whose names have this in them.
    pub(super) filter: &'static str,
}

/// All tests of a crate.
const fn tests(krate: &'static str) -> Judge {
    Judge {
        name: krate,
        krate,
        filter: "",
    }
}

/// The simulator itself: the same hundred or so short runs each time, six seeds of each scenario first. The rest of its
/// tests looks at the simulator.
const SIM: Judge = Judge {
    name: "sim",
    krate: "sim",
    filter: "nobody_objects",
};

/// Who judges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judges {
    /// The tests of a crate alone.
    pub(super) is_own: bool,
    /// All but the slowest: those of bricks.
    pub(super) is_quick: bool,
}

impl Judges {
    /// Who judges a crate, the quick ones first.
    pub(super) fn of(self, krate: &str) -> Vec<Judge> {
        const REPLICATION: &[Judge] = &[tests("replication"), tests("node"), SIM, tests("brick")];
        const CONTROL: &[Judge] = &[tests("control"), tests("node"), SIM];
        const STORE: &[Judge] = &[tests("store"), tests("node"), SIM];
        const CONSENSUS: &[Judge] = &[tests("consensus"), tests("node"), SIM];
        const BRICK: &[Judge] = &[SIM, tests("brick"), tests("node")];
        let all = match krate {
            "replication" => REPLICATION,
            "control" => CONTROL,
            "store" => STORE,
            "consensus" => CONSENSUS,
            _ => BRICK,
        };
        let is_wanted = |it: &&Judge| {
            let is_own = it.krate == krate;
            (is_own || !self.is_own) && (it.krate != "brick" || !self.is_quick)
        };
        all.iter().filter(is_wanted).copied().collect()
    }

    /// The same of several.
    pub(super) fn of_all(self, crates: &BTreeSet<&str>) -> BTreeSet<Judge> {
        let judges = crates.iter().flat_map(|it| self.of(it));
        judges.collect()
    }
}
