//! A page that names a source file in backticks names one that is there: a reader opens it.
//!
//! In:  all pages. Out: a finding for each path below a crate (`wire/src/resp/decode.rs`) without a file.
//!
//! Not here: patterns (`{a,b}.rs`), and file names alone, which say which kind of file is meant.

use crate::{finding::Finding, tree::Tree};

/// Where a crate's sources are.
const FOLDERS: [&str; 4] = ["/src/", "/tests/", "/examples/", "/benches/"];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for (page, text) in tree.ending(".md") {
        for (line, number) in text.lines().zip(1..) {
            // What stands between two backticks is every second part.
            let named = line.split('`').skip(1).step_by(2);
            for path in named.filter(|it| is_source(it)) {
                let below = format!("crates/{path}");
                if tree.text(path).is_none() && tree.text(&below).is_none() {
                    let what = format!(
                        "names {path}, which is not there; name the file that it is now in"
                    );
                    findings.push(Finding::new(page, number, what));
                }
            }
        }
    }
}

fn is_source(word: &str) -> bool {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/_.-".contains(c);
    word.ends_with(".rs") && word.chars().all(is_path) && FOLDERS.iter().any(|it| word.contains(it))
}
