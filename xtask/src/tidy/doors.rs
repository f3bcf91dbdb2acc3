//! Every file begins with a door: `//!` lines that say what it is.

use super::rust_file::RustFile;
use crate::finding::Finding;

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    // A test says what it is by its name and its functions'.
    if file.path.ends_with("_test.rs") {
        return;
    }
    let door = file
        .source
        .comments
        .iter()
        .find(|it| it.text.starts_with("//!"));
    let first_code = file.source.tokens.iter().find(|token| !token.is("#"));
    let is_first = match (door, first_code) {
        // `#![no_main]` and the like may stand before it.
        (Some(door), Some(code)) => door.line < code.line || file.text.starts_with("#!["),
        (Some(_), None) => true,
        (None, _) => false,
    };
    let is_bare = |text: &str| {
        let text = text.trim_start_matches("//!").trim();
        text.is_empty() || text.starts_with("Placeholder")
    };
    if !is_first {
        let what = "has no module door; begin it with //! what it is, what goes in and out";
        findings.push(Finding::new(file.path, 1, what));
    } else if door.is_some_and(|door| is_bare(&door.text)) {
        let what = "the module door says nothing; say what the file is";
        findings.push(Finding::new(file.path, 1, what));
    }
}
