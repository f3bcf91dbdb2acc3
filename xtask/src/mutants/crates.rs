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
#[derive(Clone, Copy, Debug)]
pub(super) struct Judges {
    /// The tests of a crate alone.
    pub(super) is_own: bool,
}

impl Judges {
    /// Who judges a crate, the quick ones first.
    pub(super) fn of(self, krate: &str) -> &'static [Judge] {
        const REPLICATION: &[Judge] = &[tests("replication"), SIM, tests("node"), tests("brick")];
        const CONTROL: &[Judge] = &[tests("control"), SIM, tests("node")];
        const STORE: &[Judge] = &[tests("store"), SIM, tests("node")];
        const CONSENSUS: &[Judge] = &[tests("consensus"), SIM, tests("node")];
        const BRICK: &[Judge] = &[SIM, tests("brick"), tests("node")];
        let all = match krate {
            "replication" => REPLICATION,
            "control" => CONTROL,
            "store" => STORE,
            "consensus" => CONSENSUS,
            _ => BRICK,
        };
        if !self.is_own {
            return all;
        }
        let own = all.iter().position(|it| it.krate == krate);
        own.map_or(&[], |at| &all[at..=at])
    }

    /// The same of several.
    pub(super) fn of_all(self, crates: &BTreeSet<&str>) -> BTreeSet<Judge> {
        let judges = crates.iter().flat_map(|it| self.of(it));
        judges.copied().collect()
    }
}
