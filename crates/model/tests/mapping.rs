//! docs/protocol.md says which functions of the product each action of the model stands for: all are named, and all exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_action_names_functions_that_exist() {
    let doc = text("docs/protocol.md");
    let (_, rows) = doc.split_once("| Action | Done by |").expect("the table");
    let mut named = BTreeSet::new();
    for row in rows.lines().skip(2).take_while(|row| row.starts_with('|')) {
        let (action, done_by) = row[1..].split_once('|').expect("two columns");
        named.insert(action.trim().trim_matches('`').to_owned());
        for part in done_by.trim_end_matches('|').split(';') {
            let (file, functions) = part.split_once(':').expect("a file and its functions");
            let file = file.trim().trim_matches('`');
            let (room, file) = file.split_once('/').expect("a room's file");
            let room = match room {
                "r" => "replication",
                "c" => "control",
                "m" => "metadata",
                "b" => "brick",
                other => panic!("no room is called {other}"),
            };
            let file = format!("crates/{room}/src/{file}");
            let source = text(&file);
            for function in quoted(functions) {
                let is_there = [format!("fn {function}("), format!("fn {function}<")];
                let is_there = is_there.iter().any(|it| source.contains(it));
                assert!(
                    is_there,
                    "{file} has no function {function}: correct the table"
                );
            }
        }
    }
    let actions = text("crates/model/src/action.rs");
    let (_, actions) = actions
        .split_once("pub enum Action {")
        .expect("the actions");
    let (actions, _) = actions.split_once("\n}").expect("their end");
    let names = actions.lines().map(str::trim);
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    let names = names.map(|line| line.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let names = names.map(|line| line.split('(').next().unwrap_or_default().to_owned());
    assert_eq!(named, names.collect(), "the table has every action");
}
