//! The map has every task that `main` knows, and no other.

use super::TASKS;
use std::collections::BTreeSet;

#[test]
fn map_has_the_tasks_that_there_are() {
    let commands = TASKS.iter().flat_map(|(_, tasks)| *tasks);
    let listed: BTreeSet<&str> = commands
        .filter_map(|task| task.command.strip_prefix("cargo xtask "))
        .filter_map(|words| words.split(' ').next())
        .collect();
    let arms = include_str!("main.rs").lines().map(str::trim);
    let known: BTreeSet<&str> = arms
        .filter_map(|line| line.strip_prefix("[\"")?.split_once('"'))
        .filter(|(name, rest)| !name.starts_with('-') && rest.contains("=>"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(listed, known);
}
