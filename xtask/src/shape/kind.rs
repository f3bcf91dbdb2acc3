//! What a line of code is for: the product, or what checks and measures it.
//!
//! In:  a file and its crate. Out: its [`Kind`]. A crate that is added gets a line in [`KINDS`].

use super::house::{Crate, Lines};
use std::collections::BTreeMap;

/// What code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// All that a node consists of.
    Server,
    /// The commands of the program `brickyard`.
    Commands,
    /// The client library.
    Client,
    /// Of the product's own crates: `x_test.rs`, `tests/`, and what stands behind `#[cfg(test)]`.
    Tests,
    Simulator,
    Model,
    History,
    Torture,
    Fuzz,
    Bench,
    EndToEnd,
    Examples,
    Xtask,
}

/// The crates, by what they are for; the others are the server's.
const KINDS: &[(&str, Kind)] = &[
    ("backup", Kind::Commands),
    ("import", Kind::Commands),
    ("cli", Kind::Commands),
    ("client", Kind::Client),
    ("python", Kind::Client),
    ("sim", Kind::Simulator),
    ("model", Kind::Model),
    // Deliberate bugs, and what hunts for them.
    ("sabotage", Kind::Tests),
    ("history", Kind::History),
    ("torture", Kind::Torture),
    ("fuzz", Kind::Fuzz),
    ("bench", Kind::Bench),
    ("experiments", Kind::Bench),
    ("e2e", Kind::EndToEnd),
    // `examples`.
    ("service", Kind::Examples),
    ("presence", Kind::Examples),
    ("site", Kind::Examples),
    ("keystore", Kind::Examples),
    ("recommender", Kind::Examples),
    ("xtask", Kind::Xtask),
];

/// Of the program `brickyard`, what is there to try it out or to measure it.
const NOT_PRODUCT: &[(&str, Kind)] = &[
    ("crates/cli/src/torture/", Kind::Torture),
    ("crates/cli/src/cmd/torture.rs", Kind::Torture),
    ("crates/cli/src/cmd/strangers.rs", Kind::Torture),
    ("crates/cli/src/cmd/sim.rs", Kind::Simulator),
    ("crates/cli/src/cmd/bench.rs", Kind::Bench),
    // The table of deliberate bugs.
    ("crates/types/src/sabotage", Kind::Tests),
];

impl Kind {
    pub(super) const ALL: [Self; 13] = [
        Self::Server,
        Self::Commands,
        Self::Client,
        Self::Tests,
        Self::Simulator,
        Self::Model,
        Self::History,
        Self::Torture,
        Self::Fuzz,
        Self::Bench,
        Self::EndToEnd,
        Self::Examples,
        Self::Xtask,
    ];

    /// What a file's code is for, if it is not for tests.
    pub(super) fn of(krate: &Crate, path: &str) -> Self {
        let by_file = NOT_PRODUCT
            .iter()
            .find(|(begin, _)| path.starts_with(begin));
        let by_crate = || KINDS.iter().find(|(name, _)| *name == krate.name);
        by_file
            .or_else(by_crate)
            .map_or(Self::Server, |(_, kind)| *kind)
    }

    /// What the tests in such code are: those of the product are a kind of their own.
    fn of_tests(self) -> Self {
        if self.is_product() { Self::Tests } else { self }
    }

    pub(super) fn is_product(self) -> bool {
        matches!(self, Self::Server | Self::Commands | Self::Client)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "product: server side",
            Self::Commands => "product: the program's commands",
            Self::Client => "product: client library",
            Self::Tests => "tests of the product's crates",
            Self::Simulator => "simulator",
            Self::Model => "model",
            Self::History => "history checker",
            Self::Torture => "torture",
            Self::Fuzz => "fuzz",
            Self::Bench => "bench",
            Self::EndToEnd => "e2e",
            Self::Examples => "examples: services",
            Self::Xtask => "xtask",
        }
    }
}

/// Lines of code by kind.
pub(super) fn lines(crates: &[Crate]) -> BTreeMap<Kind, usize> {
    let mut sums = BTreeMap::new();
    for krate in crates {
        for file in &krate.files {
            let kind = Kind::of(krate, &file.path);
            let Lines { code, test } = file.lines;
            *sums.entry(kind).or_default() += code;
            *sums.entry(kind.of_tests()).or_default() += test;
        }
    }
    sums
}
