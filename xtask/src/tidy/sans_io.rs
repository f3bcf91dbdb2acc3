//! Sans-IO rooms never touch the world: no sockets, files, threads, clocks or chance.
//!
//! The simulator and the server run the same code only as long as everything from outside comes in
//! as an argument; one clock read inside, and a seed no longer reproduces a run.

use super::rust_file::RustFile;
use crate::{arrows, finding::Finding};

/// Names that reach outside, and what to do instead.
const BANNED: &[(&[&str], &str)] = &[
    (
        &["std", "fs"],
        "files are the server's and the store's; emit an effect",
    ),
    (&["std", "net"], "sockets are the server's; emit an effect"),
    (
        &["std", "thread"],
        "threads are the server's; a brick is one",
    ),
    (
        &["std", "process"],
        "processes are the server's; return an error",
    ),
    (
        &["std", "env"],
        "the environment is read by the configuration, once",
    ),
    (&["std", "os"], "operating systems are the server's"),
    (
        &["std", "time", "Instant"],
        "time comes in as types::Instant",
    ),
    (
        &["std", "time", "SystemTime"],
        "time comes in as types::UnixMillis",
    ),
    (&["Instant", "now"], "time comes in as an argument"),
    (&["SystemTime"], "time comes in as an argument"),
    (&["println"], "cores print nothing; return or emit it"),
    (&["eprintln"], "cores print nothing; return or emit it"),
    (
        &["RandomState"],
        "its order differs between runs; give a fixed hasher",
    ),
    (
        &["DefaultHashBuilder"],
        "its order differs between runs; give a fixed hasher",
    ),
    (
        &["std", "collections", "HashMap"],
        "its order differs between runs; use BTreeMap, or hashbrown with a fixed hasher",
    ),
    (
        &["std", "collections", "HashSet"],
        "its order differs between runs; use BTreeSet, or hashbrown with a fixed hasher",
    ),
];

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    let package = file.package();
    let is_core = arrows::sans_io_rooms().any(|room| package.strip_prefix("crates/") == Some(room));
    if !is_core || file.is_test() {
        return;
    }
    for (line, path) in file.source.without_tests().paths() {
        let names = |banned: &[&str]| path.windows(banned.len()).any(|part| part == banned);
        if let Some((banned, remedy)) = BANNED.iter().find(|(banned, _)| names(banned)) {
            let what = format!("{} in a sans-IO room: {remedy}", banned.join("::"));
            findings.push(Finding::new(file.path, line, what));
        }
    }
}
