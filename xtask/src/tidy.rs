//! The rules of the house, one file each.

mod dead_files;
mod doors;
pub mod length;
mod promises;
mod sabotage;
mod sans_io;
mod strangers;
mod unsafe_code;

use crate::{finding::Finding, rust_source::Source, tree::Tree};

/// A Rust file of the tree, taken apart.
struct RustFile<'a> {
    path: &'a str,
    text: &'a str,
    source: Source,
}

impl RustFile<'_> {
    /// The crate's folder, such as `crates/wire` or `xtask`.
    fn package(&self) -> &str {
        let is_room = self.path.starts_with("crates/");
        let mut slashes = self.path.match_indices('/').map(|(at, _)| at);
        let end = if is_room {
            slashes.nth(1)
        } else {
            slashes.next()
        };
        &self.path[..end.unwrap_or(self.path.len())]
    }

    /// Whether only tests or benchmarks use the file.
    fn is_test(&self) -> bool {
        let folders = ["/tests/", "/benches/", "/examples/", "/testing/"];
        self.path.ends_with("_test.rs") || folders.iter().any(|folder| self.path.contains(folder))
    }
}

/// Every broken rule, in the order of the files.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let files: Vec<RustFile<'_>> = tree
        .ending(".rs")
        .map(|(path, text)| RustFile {
            path,
            text,
            source: Source::parse(text),
        })
        .collect();
    let mut findings = Vec::new();
    for file in &files {
        sans_io::check(file, &mut findings);
        doors::check(file, &mut findings);
        promises::check(file, &mut findings);
        unsafe_code::check(file, &mut findings);
    }
    dead_files::check(tree, &files, &mut findings);
    sabotage::check(tree, &files, &mut findings);
    strangers::check(tree, &mut findings);
    findings.sort();
    findings
}

#[cfg(test)]
#[path = "tidy_test.rs"]
mod tidy_test;
