//! The crates that have mutants, and whose tests judge those.

/// Those that keep the promises.
pub(super) const CRATES: [&str; 5] = ["replication", "control", "store", "consensus", "brick"];

/// The crates whose tests judge a crate: its own, which has to be first, and others, the quick ones first.
pub(super) fn judges(krate: &str) -> &'static [&'static str] {
    match krate {
        "replication" => &["replication", "node", "sim", "brick"],
        "control" => &["control", "node", "sim"],
        "store" => &["store", "node", "sim"],
        "consensus" => &["consensus", "node", "sim"],
        _ => &["brick", "node", "sim"],
    }
}
