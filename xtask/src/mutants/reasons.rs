//! Mutants that no test can notice, and why: xtask/mutants.toml.
//!
//! In:  the file, all mutants. Out: reasons by the mutants' names; findings about those that are of no mutant.

use super::find::{Mutant, squeeze};
use crate::{finding::Finding, tree::Tree};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The file's path.
pub(super) const REASONS: &str = "xtask/mutants.toml";

/// Reads them.
pub(super) fn read(
    tree: &Tree,
    all: &[Mutant],
    findings: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let text = tree.text(REASONS).unwrap_or_default();
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            findings.push(Finding::new(REASONS, 0, error.to_string()));
            return BTreeMap::new();
        }
    };
    let mut reasons = BTreeMap::new();
    let entries = table.get("equivalent").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        let word = |name: &str| {
            let word = entry.get(name).and_then(Value::as_str);
            squeeze(word.unwrap_or_default())
        };
        let (name, why, in_) = (word("mutant"), word("why"), word("in"));
        let mutant = all.iter().find(|it| it.name == name);
        let line = text.lines().position(|it| it.contains(&name));
        let mut refuse = |what: &str| {
            let what = format!("{name} {what}");
            findings.push(Finding::new(REASONS, line.map_or(0, |it| it + 1), what));
        };
        match mutant {
            None => refuse("is no mutant: `cargo xtask mutants --list`, or take the entry out"),
            Some(it) if in_ != format!("{} {}", it.file, it.function) => {
                refuse(&format!("is in {} {}", it.file, it.function));
            }
            Some(_) if why.is_empty() => refuse("needs a `why`"),
            Some(_) => drop(reasons.insert(name, why)),
        }
    }
    reasons
}
