//! Files that have grown long: a report for maintainers, never a failure.

use crate::tree::Tree;

/// Past this many lines of code a file is worth a look.
const LINES: usize = 600;

/// The long files and their lines of code (no tests, no blank lines, no comments), longest first.
#[must_use]
pub fn report(tree: &Tree) -> Vec<(String, usize)> {
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//")
    };
    let mut long: Vec<(String, usize)> = tree
        .ending(".rs")
        .filter(|(path, _)| !path.ends_with("_test.rs"))
        .map(|(path, text)| (path.to_owned(), text.lines().filter(is_code).count()))
        .filter(|(_, lines)| *lines > LINES)
        .collect();
    long.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    long
}
