//! The rules of the house, one file each.

mod dead_files;
mod doors;
pub mod length;
mod lints;
mod named_files;
mod promises;
mod protocol_rules;
mod rust_file;
mod sabotage;
mod sans_io;
mod strangers;
mod unsafe_code;

use crate::{finding::Finding, mutants, rust_source::Source, tree::Tree};
use rust_file::RustFile;

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
        lints::check(file, &mut findings);
        promises::check(file, &mut findings);
        unsafe_code::check(file, &mut findings);
    }
    dead_files::check(tree, &files, &mut findings);
    named_files::check(tree, &mut findings);
    protocol_rules::check(tree, &files, &mut findings);
    sabotage::check(tree, &files, &mut findings);
    findings.extend(mutants::findings(tree));
    strangers::check(tree, &mut findings);
    findings.sort();
    findings
}

#[cfg(test)]
#[path = "tidy_test.rs"]
mod tidy_test;
