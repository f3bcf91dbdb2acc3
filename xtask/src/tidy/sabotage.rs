//! Deliberate bugs: each is somewhere in the code and on the page, and no manifest turns them on.

use crate::{finding::Finding, tree::Tree};

const BUGS: &str = "crates/types/src/sabotage.rs";
const PAGE: &str = "docs/sabotage.md";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let Some(text) = tree.text(BUGS) else {
        return;
    };
    let page = tree.text(PAGE).unwrap_or_default();
    for (at, bug) in bugs(text) {
        let switch = format!("sabotage::is(Bug::{bug})");
        let is_there = tree
            .ending(".rs")
            .any(|(path, text)| path != BUGS && text.contains(&switch));
        if !is_there {
            let what = format!("nothing asks {switch}; put it where the rule is kept");
            findings.push(Finding::new(BUGS, at, what));
        }
        if !page.contains(&format!("`{bug}`")) {
            let what = format!("`{bug}` is not on the page; say where it is and who finds it");
            findings.push(Finding::new(PAGE, 0, what));
        }
    }
    for (path, text) in tree.ending("Cargo.toml") {
        for (line, at) in text.lines().zip(1..) {
            let is_use = line.contains("features = [") || line.contains("default = [");
            if is_use && line.contains("sabotage") {
                let what = "turns deliberate bugs on: only `--features` of a test does that";
                findings.push(Finding::new(path, at, what));
            }
        }
    }
}

/// The variants, and the lines they are on.
fn bugs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().zip(1..);
    lines.filter_map(|(line, at)| {
        let name = line.strip_prefix("    ")?.strip_suffix(',')?;
        let is_name =
            name.starts_with(|it: char| it.is_ascii_uppercase()) && !name.contains([' ', '(', ':']);
        is_name.then_some((at, name))
    })
}
