//! Rules of docs/protocol.md have names: what the source calls a rule is one of them, and each has a test that names it.
//!
//! A comment says ``rule `a cut is a record` ``, or ``rules `...`, `...` and `...` ``. Whatever else stands in backquotes
//! behind the word is no rule.

use super::rust_file::RustFile;
use crate::{finding::Finding, sabotage, tree::Tree};
use std::collections::BTreeMap;

const PAGE: &str = "docs/protocol.md";

pub(super) fn check(tree: &Tree, files: &[RustFile<'_>], findings: &mut Vec<Finding>) {
    let Some(page) = tree.text(PAGE) else {
        return;
    };
    // Each rule, and whether a test names it.
    let headings = page.lines().zip(1..);
    let headings = headings.filter_map(|(line, at)| Some((line.strip_prefix("### ")?, at)));
    let mut rules: BTreeMap<&str, (usize, bool)> =
        headings.map(|(name, at)| (name, (at, false))).collect();
    for file in files.iter().filter(|it| it.path.starts_with("crates/")) {
        for (line, name) in named(file) {
            if let Some((_, is_tested)) = rules.get_mut(name.as_str()) {
                *is_tested |= file.is_test() || file.path.contains("_test/");
            } else {
                let what = format!("{PAGE} has no rule `{name}`");
                findings.push(Finding::new(file.path, line, what));
            }
        }
    }
    for (file, line, name) in sabotage::rules(tree) {
        if !rules.contains_key(name.as_str()) {
            let what = format!("{PAGE} has no rule `{name}`");
            findings.push(Finding::new(&file, line, what));
        }
    }
    for (name, (line, is_tested)) in rules {
        if !is_tested {
            let what = format!("no test names the rule `{name}`");
            findings.push(Finding::new(PAGE, line, what));
        }
    }
}

/// What a file's comments call rules, each with the line where its comment begins. A comment's lines are read as one text.
fn named(file: &RustFile<'_>) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, usize, String)> = Vec::new();
    for comment in &file.source.comments {
        let text = comment.text.trim_start_matches(['/', '!']).trim();
        match blocks.last_mut() {
            Some((_, last, block)) if *last + 1 == comment.line => {
                *last = comment.line;
                block.push(' ');
                block.push_str(text);
            }
            _ => blocks.push((comment.line, comment.line, text.to_owned())),
        }
    }
    let mut found = Vec::new();
    for (line, _, mut text) in blocks {
        while let Some((name, rest)) = first_of(&text) {
            found.push((line, name));
            text = rest;
        }
    }
    found
}

/// The first name of a rule in a text, and what is to be read after it.
fn first_of(text: &str) -> Option<(String, String)> {
    let text = text.replace("Rule", "rule");
    let starts = ["rule `", "rules `"];
    let start = starts
        .iter()
        .filter_map(|it| Some(text.find(it)? + it.len()));
    let start = start.min()?;
    let (name, rest) = text[start..].split_once('`')?;
    let more = rest
        .strip_prefix(", `")
        .or_else(|| rest.strip_prefix(" and `"));
    let rest = more.map_or_else(|| rest.to_owned(), |more| format!("rules `{more}"));
    Some((name.to_owned(), rest))
}
