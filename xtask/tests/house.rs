//! The rules of the house hold: the checks of `cargo xtask`, run with all other tests.

use std::path::Path;
use xtask::{Finding, Shape, Tree, arrows, tidy};

fn tree() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Tree::read(&root).expect("the repository can be read")
}

#[track_caller]
fn assert_none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn source_is_tidy() {
    assert_none(&tidy::findings(&tree()));
}

#[test]
fn arrows_point_one_way() {
    assert_none(&arrows::findings(&tree()));
}

#[test]
fn shape_is_no_worse_than_its_limits() {
    let shape = Shape::measure(&tree()).expect("the repository is Rust");
    assert_none(shape.findings());
}
