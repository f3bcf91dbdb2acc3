//! Dependencies between rooms point one way: along the data's path, never back.
//!
//! In: the crates' manifests. Out: a finding for each arrow that is not in `ROOMS`.
//!
//! A room that is added gets a line here and one in `crates/README.md`.

use crate::{finding::Finding, tree::Tree};
use toml::{Table, Value};

/// A room of the house.
struct Room {
    name: &'static str,
    /// The rooms it may use; for the last rooms, all that come before them.
    uses: Uses,
    is_sans_io: bool,
}

enum Uses {
    Only(&'static [&'static str]),
    AllBefore,
}

const fn core(name: &'static str, uses: &'static [&'static str]) -> Room {
    Room {
        name,
        uses: Uses::Only(uses),
        is_sans_io: true,
    }
}

const fn outer(name: &'static str, uses: Uses) -> Room {
    Room {
        name,
        uses,
        is_sans_io: false,
    }
}

/// All rooms, each after those that it may use.
const ROOMS: &[Room] = &[
    core("types", &[]),
    core("wire", &["types"]),
    core("routing", &["types"]),
    core("table", &["types"]),
    outer("store", Uses::Only(&["types"])),
    // Its tests start servers.
    outer("rdb", Uses::Only(&["types"])),
    core("command", &["types", "wire", "rdb"]),
    // Its scripts may be ended by a clock.
    outer("script", Uses::Only(&["wire"])),
    core("replication", &["types", "wire", "routing"]),
    core("metadata", &["types", "wire", "routing"]),
    core("control", &["types", "routing", "metadata"]),
    core("consensus", &["types"]),
    core(
        "brick",
        &[
            "types",
            "wire",
            "routing",
            "table",
            "command",
            "script",
            "replication",
            "metadata",
        ],
    ),
    core(
        "node",
        &[
            "types",
            "routing",
            "store",
            "metadata",
            "control",
            "consensus",
            "brick",
        ],
    ),
    core("history", &[]),
    // Uses none of them: it is what they are compared with.
    outer("model", Uses::Only(&[])),
    outer("tcp", Uses::Only(&[])),
    outer("tls", Uses::Only(&[])),
    outer("server", Uses::AllBefore),
    outer(
        "client",
        Uses::Only(&["types", "wire", "routing", "tcp", "tls"]),
    ),
    // `clients/python`: the library as Python has it.
    outer("python", Uses::Only(&["client", "rdb"])),
    // `examples`: services as their users would write them, so they see the library alone.
    outer("service", Uses::Only(&["client"])),
    outer("presence", Uses::Only(&["client", "example-service"])),
    outer("site", Uses::Only(&["client", "example-service"])),
    outer("keystore", Uses::Only(&["client", "example-service"])),
    outer("recommender", Uses::Only(&["client", "example-service"])),
    outer("sim", Uses::AllBefore),
    outer("fuzz", Uses::AllBefore),
    outer(
        "bench",
        Uses::Only(&["types", "wire", "routing", "tls", "client"]),
    ),
    outer("backup", Uses::Only(&["types"])),
    outer("import", Uses::Only(&["types", "wire", "rdb", "command"])),
    outer("torture", Uses::Only(&["client", "history"])),
    outer(
        "experiments",
        Uses::Only(&["types", "wire", "routing", "client", "bench", "torture"]),
    ),
    outer("cli", Uses::AllBefore),
    // Drives the finished program from outside, as its users do.
    outer(
        "e2e",
        Uses::Only(&["types", "wire", "tls", "client", "bench", "torture"]),
    ),
];

/// What a sans-IO room may not depend on: sockets, files, threads, runtimes, clocks, randomness.
const WORLDLY: &[&str] = &[
    "async-std",
    "axum",
    "chrono",
    "crossbeam",
    "getrandom",
    "hyper",
    "mio",
    "nix",
    "num_cpus",
    "rand",
    "rayon",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "time",
    "tokio",
    "tracing-subscriber",
    "uuid",
];

/// Where rooms are: those of the program, libraries for other languages, and services on top of a table.
pub(crate) const HALLS: [&str; 3] = ["crates/", "clients/", "examples/"];

const MAP: &str = "crates/README.md";

/// The names of the rooms that are sans-IO.
pub fn sans_io_rooms() -> impl Iterator<Item = &'static str> {
    ROOMS
        .iter()
        .filter(|room| room.is_sans_io)
        .map(|room| room.name)
}

/// All arrows that point the wrong way, and rooms that the map does not show.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let map = tree.text(MAP).unwrap_or_default();
    for (path, text) in tree.ending("/Cargo.toml") {
        let inside = HALLS.iter().find_map(|hall| path.strip_prefix(hall));
        let Some(name) = inside.and_then(|it| it.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let Some(place) = ROOMS.iter().position(|room| room.name == name) else {
            let what = format!("room {name} is unknown; add it to ROOMS in xtask and to {MAP}");
            findings.push(Finding::new(path, 0, what));
            continue;
        };
        if !map.contains(&format!("`{name}`")) {
            let what = format!("room `{name}` is not on the map; add it");
            findings.push(Finding::new(MAP, 0, what));
        }
        match text.parse::<Table>() {
            Ok(manifest) => check(path, place, &manifest, &mut findings),
            Err(error) => findings.push(Finding::new(path, 0, format!("is not TOML: {error}"))),
        }
    }
    findings
}

fn check(path: &str, place: usize, manifest: &Table, findings: &mut Vec<Finding>) {
    let room = &ROOMS[place];
    for dependency in dependencies(manifest) {
        let what = match dependency.strip_prefix("brickyard-") {
            Some(used) if !may_use(place, used) => format!(
                "{} may not use {used}: arrows point along the data's path ({MAP}); \
                 move what is shared to a room before both",
                room.name
            ),
            None if room.is_sans_io && WORLDLY.contains(&dependency.as_str()) => format!(
                "{} is sans-IO and may not use {dependency}; \
                 take what it would give as an argument or an event",
                room.name
            ),
            _ => continue,
        };
        findings.push(Finding::new(path, 0, what));
    }
}

fn may_use(place: usize, used: &str) -> bool {
    match ROOMS[place].uses {
        Uses::Only(uses) => uses.contains(&used),
        Uses::AllBefore => ROOMS[..place].iter().any(|room| room.name == used),
    }
}

/// The crates that a manifest needs to be built, on any target. What tests need is their own affair.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let of_targets = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let mut names = Vec::new();
    for table in std::iter::once(manifest).chain(of_targets) {
        for kind in ["dependencies", "build-dependencies"] {
            let entries = table.get(kind).and_then(Value::as_table);
            for (name, entry) in entries.into_iter().flatten() {
                // A renamed dependency is known by its real name.
                let real = entry.get("package").and_then(Value::as_str);
                names.push(real.unwrap_or(name).to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
#[path = "arrows_test.rs"]
mod arrows_test;
