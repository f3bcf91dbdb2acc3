//! No file that nothing compiles: such code looks alive and is not.
//!
//! From each target of a package (its library, programs, tests, benchmarks, build script, and what
//! its manifest names) the `mod` declarations are followed; what is not reached is dead.

use super::rust_file::RustFile;
use crate::{finding::Finding, tree::Tree};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

pub(super) fn check(tree: &Tree, files: &[RustFile<'_>], findings: &mut Vec<Finding>) {
    let by_path: BTreeMap<&str, &RustFile<'_>> = files.iter().map(|it| (it.path, it)).collect();
    let mut alive: BTreeSet<String> = BTreeSet::new();
    let mut open = roots(tree, files);
    while let Some(path) = open.pop() {
        let Some(file) = by_path.get(path.as_str()) else {
            continue;
        };
        if alive.insert(path.clone()) {
            for (name, given) in file.source.child_modules() {
                open.extend(candidates(&path, name, given));
            }
        }
    }
    for file in files.iter().filter(|file| !alive.contains(file.path)) {
        let what = "nothing compiles this file; declare it with mod, or remove it";
        findings.push(Finding::new(file.path, 0, what));
    }
}

/// The files that cargo itself begins with.
fn roots(tree: &Tree, files: &[RustFile<'_>]) -> Vec<String> {
    let mut roots: Vec<String> = files
        .iter()
        .map(|file| file.path)
        .filter(|path| is_usual_root(path))
        .map(str::to_owned)
        .collect();
    for (manifest_path, text) in tree.ending("Cargo.toml") {
        let folder = manifest_path.trim_end_matches("Cargo.toml");
        let Ok(manifest) = text.parse::<Table>() else {
            continue;
        };
        let named = ["lib", "bin", "test", "bench", "example"].into_iter();
        let targets = named
            .filter_map(|kind| manifest.get(kind))
            .flat_map(|value| match value {
                Value::Array(targets) => targets.iter().collect(),
                target => vec![target],
            });
        let paths = targets.filter_map(|target| target.get("path")?.as_str());
        roots.extend(paths.map(|path| normal(&format!("{folder}{path}"))));
    }
    roots
}

fn is_usual_root(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (parents, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    match last {
        "src" => ["lib.rs", "main.rs"].contains(&name),
        "tests" | "benches" | "examples" => true,
        "bin" => parents.ends_with("src"),
        _ if name == "build.rs" => true,
        // `tests/differential/main.rs`
        _ => {
            name == "main.rs"
                && ["tests", "benches", "bin"]
                    .iter()
                    .any(|it| parents.ends_with(it))
        }
    }
}

/// Where the module `name` of the file `path` may be.
fn candidates(path: &str, name: &str, given: Option<&str>) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(given) = given {
        return vec![normal(&format!("{folder}/{given}"))];
    }
    let stem = file.trim_end_matches(".rs");
    let is_root = ["lib", "main", "mod"].contains(&stem) || is_usual_root(path);
    let home = if is_root {
        folder.to_owned()
    } else {
        format!("{folder}/{stem}")
    };
    // A test beside a program may be a root and have a folder of its own.
    vec![
        format!("{home}/{name}.rs"),
        format!("{home}/{name}/mod.rs"),
        format!("{folder}/{stem}/{name}.rs"),
    ]
}

/// The path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
