//! Nothing in the repository belongs to one machine: no home folders, no private package registries.
//!
//! A fresh clone has to build anywhere, and a path from someone's machine says that it was tried on
//! one only.

use crate::{finding::Finding, tree::Tree};

/// Beginnings of paths that exist on somebody's machine.
const MACHINE_PATHS: [&str; 4] = ["/root/", "/home/", "/Users/", "/work/"];

/// Settings that send package tools to other places than the public registries.
const REGISTRIES: [&str; 5] = [
    "index-url",
    "extra-index-url",
    "[source.",
    "[registries.",
    "replace-with",
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for (path, text) in tree.files() {
        // The rule's own words.
        if path.starts_with("xtask/src/tidy") {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(what) = stranger(path, line) {
                findings.push(Finding::new(path, number, what));
            }
        }
    }
}

fn stranger(path: &str, line: &str) -> Option<String> {
    let is_path_start = |at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "_-./>})~$".contains(c)))
    };
    if let Some(found) = MACHINE_PATHS
        .into_iter()
        .find(|it| line.match_indices(it).any(|(at, _)| is_path_start(at)))
    {
        return Some(format!(
            "names {found}, a folder of one machine; use a relative path, or /srv in an example"
        ));
    }
    if let Some(found) = REGISTRIES.into_iter().find(|it| line.contains(it)) {
        let is_settings =
            path.ends_with(".toml") || path.starts_with(".c") || path.ends_with(".cfg");
        return is_settings
            .then(|| format!("sets {found}; the repository uses the public registries"));
    }
    let source = line.trim().strip_prefix("source = ");
    if path.ends_with("Cargo.lock")
        && let Some(source) = source
        && source.trim_matches('"') != CRATES_IO
    {
        return Some(format!(
            "locks a package from {source}; use one from crates.io"
        ));
    }
    None
}
