//! Deliberate bugs fit the code, and none of them is in the product.

use super::rust_file::RustFile;
use crate::{finding::Finding, sabotage, tree::Tree};

const CRATE: &str = "brickyard-sabotage";

pub(super) fn check(tree: &Tree, files: &[RustFile<'_>], findings: &mut Vec<Finding>) {
    findings.extend(sabotage::findings(tree));
    for file in files.iter().filter(|it| is_product(it)) {
        let word = file
            .source
            .tokens
            .iter()
            .find(|it| it.text.contains("sabotage"));
        if let Some(word) = word {
            let what = "names deliberate bugs: they are texts in sabotage/bugs, for tests alone";
            findings.push(Finding::new(file.path, word.line, what));
        }
    }
    for (path, text) in tree
        .ending("/Cargo.toml")
        .filter(|it| it.0.starts_with("crates/"))
    {
        let mut section = "";
        for (line, at) in text.lines().zip(1..) {
            if line.starts_with('[') {
                section = line;
            }
            if line.contains(CRATE) && section != "[dev-dependencies]" {
                let what = format!("only tests use {CRATE}: [dev-dependencies]");
                findings.push(Finding::new(path, at, what));
            }
        }
    }
}

fn is_product(file: &RustFile<'_>) -> bool {
    // The modules of a test are in a folder with its name.
    file.path.starts_with("crates/") && !file.is_test() && !file.path.contains("_test/")
}
