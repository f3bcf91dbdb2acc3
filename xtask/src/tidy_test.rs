use super::*;

const DOOR: &str = "//! A file that is here for a test.\n";

/// The findings about one file of a crate whose lib.rs declares it.
fn found_in(path: &str, text: &str) -> Vec<String> {
    let name = path
        .rsplit('/')
        .next()
        .unwrap_or(path)
        .trim_end_matches(".rs");
    let lib = format!("{DOOR}mod {name};");
    let package = path.split("/src/").next().unwrap_or_default();
    let files = [
        (format!("{package}/src/lib.rs"), lib),
        (path.to_owned(), text.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    findings(&Tree::of(&files))
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn assert_found(path: &str, text: &str, expected: &str) {
    let found = found_in(path, &format!("{DOOR}{text}"));
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    assert!(found[0].starts_with(expected), "{found:?}");
}

fn assert_clean(path: &str, text: &str) {
    assert_eq!(found_in(path, &format!("{DOOR}{text}")), [""; 0]);
}

#[test]
fn world_is_kept_out_of_sans_io_rooms() {
    for (text, name) in [
        ("use std::fs;", "std::fs"),
        ("use std::{io, net::TcpStream};", "std::net"),
        ("fn f() { std::thread::yield_now(); }", "std::thread"),
        ("fn f() { let t = Instant::now(); }", "Instant::now"),
        (
            "use std::collections::{BTreeMap, HashMap};",
            "std::collections::HashMap",
        ),
        ("fn f() { println!(\"hello\"); }", "println"),
    ] {
        let expected = format!("crates/wire/src/x.rs:2: {name} in a sans-IO room: ");
        assert_found("crates/wire/src/x.rs", text, &expected);
    }
}

#[test]
fn other_rooms_tests_and_mere_words_may_name_the_world() {
    assert_clean("crates/server/src/x.rs", "use std::{fs, net};");
    assert_clean(
        "crates/wire/src/x.rs",
        "// std::fs\nconst A: &str = \"std::net\";",
    );
    assert_clean(
        "crates/wire/src/x.rs",
        "#[cfg(test)]\nmod tests { use std::fs; }",
    );
    assert_clean(
        "crates/wire/src/x.rs",
        "use brickyard_types::Instant;\nuse hashbrown::HashMap;",
    );
}

#[test]
fn file_without_a_door_is_found() {
    let found = found_in("crates/wire/src/x.rs", "fn f() {}");
    assert!(found[0].contains("has no module door"), "{found:?}");
    let found = found_in(
        "crates/wire/src/x.rs",
        "fn f() {}\n//! Too late to say what it is.",
    );
    assert!(found[0].contains("has no module door"), "{found:?}");
    let found = found_in("crates/wire/src/x.rs", "//! Placeholder.");
    assert!(found[0].contains("says nothing"), "{found:?}");
}

#[test]
fn promise_is_found() {
    assert_found(
        "crates/wire/src/x.rs",
        "// TODO: later",
        "crates/wire/src/x.rs:2: TODO",
    );
    assert_clean(
        "crates/wire/src/x.rs",
        "// The rule against `TODO` in comments.",
    );
}

#[test]
fn unsafe_outside_the_list_is_found() {
    let text = "fn f() { unsafe { g() } }";
    assert_found(
        "crates/wire/src/x.rs",
        text,
        "crates/wire/src/x.rs:2: unsafe code",
    );
    assert_clean("crates/table/src/prefetch.rs", text);
    assert_clean(
        "crates/wire/src/x.rs",
        "#![expect(unsafe_code, reason = \"not here\")]",
    );
}

#[test]
fn file_that_nothing_declares_is_dead() {
    let files = [
        (
            "crates/a/Cargo.toml",
            "[[bin]]\nname = \"odd\"\npath = \"odd/start.rs\"",
        ),
        (
            "crates/a/src/lib.rs",
            "//! The library of a test.\nmod b;\n#[cfg(test)]\n#[path = \"lib_test.rs\"]\nmod lib_test;",
        ),
        (
            "crates/a/src/b.rs",
            "//! Has a child in its folder.\nmod c;",
        ),
        ("crates/a/src/b/c.rs", "//! The child of b."),
        ("crates/a/src/lib_test.rs", ""),
        ("crates/a/src/bin/tool.rs", "//! A program of its own."),
        (
            "crates/a/tests/it/main.rs",
            "//! A test in a folder.\nmod part;",
        ),
        ("crates/a/tests/it/part.rs", "//! A part of that test."),
        ("crates/a/odd/start.rs", "//! Named by the manifest."),
        ("crates/a/src/dead.rs", "//! Declared by nobody."),
    ];
    let found: Vec<String> = findings(&Tree::of(&files))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        ["crates/a/src/dead.rs: nothing compiles this file; declare it with mod, or remove it"]
    );
}

#[test]
fn machine_paths_and_registries_are_found() {
    let machine = ["", "root", "x"].join("/");
    let found = |path: &str, text: &str| findings(&Tree::of(&[(path, text)])).len();
    assert_eq!(found("docs/a.md", &format!("see {machine}")), 1);
    assert_eq!(found("docs/a.md", &format!("see `{machine}`")), 1);
    assert_eq!(found("docs/a.md", &format!("see build{machine}")), 0);
    assert_eq!(found("pip.cfg", "index-url = x"), 1);
    assert_eq!(found("docs/a.md", "set index-url to x"), 0);
    assert_eq!(
        found("Cargo.lock", "source = \"git+https://example.org/x\""),
        1
    );
    assert_eq!(
        found(
            "Cargo.lock",
            "source = \"registry+https://github.com/rust-lang/crates.io-index\""
        ),
        0
    );
}

#[test]
fn only_long_files_are_reported() {
    let long = "let x = 1;\n".repeat(601);
    let comments = "// x\n\n".repeat(601);
    let tree = Tree::of(&[("a.rs", &long), ("b.rs", &comments), ("c_test.rs", &long)]);
    assert_eq!(length::report(&tree), [("a.rs".to_owned(), 601)]);
}

#[test]
fn deliberate_bugs_in_the_product_are_found() {
    assert_found(
        "crates/wire/src/x.rs",
        "fn f() -> bool { sabotage::is_on(3) }",
        "crates/wire/src/x.rs:2: names deliberate bugs",
    );
    assert_clean(
        "crates/wire/src/x_test.rs",
        "fn f() -> bool { brickyard_sabotage::is_on(3) }",
    );
    let manifest = "[dependencies]\nbrickyard-sabotage.workspace = true\n";
    let found = findings(&Tree::of(&[("crates/wire/Cargo.toml", manifest)]));
    assert_eq!(found.len(), 1, "{found:?}");
    let manifest = manifest.replace("[dep", "[dev-dep");
    let found = findings(&Tree::of(&[("crates/wire/Cargo.toml", &manifest)]));
    assert_eq!(found, []);
}

#[test]
fn lint_is_switched_off_by_expect_alone() {
    assert_found(
        "crates/server/src/x.rs",
        "#[allow(dead_code, reason = \"later\")] fn f() {}",
        "crates/server/src/x.rs:2: switches a lint off for ever",
    );
    assert_found(
        "crates/server/src/x.rs",
        "mod y { #![allow(dead_code)] }",
        "crates/server/src/x.rs:2: switches a lint off for ever",
    );
    assert_clean(
        "crates/server/src/x.rs",
        "#[expect(dead_code, reason = \"f\")] fn f() { allow(1); let a = [allow]; }",
    );
}

#[test]
fn files_that_a_page_names_are_there() {
    let findings = |page: &str| -> Vec<String> {
        let files = [("crates/wire/src/lib.rs", DOOR), ("docs/page.md", page)];
        let found = findings(&Tree::of(&files));
        found.iter().map(ToString::to_string).collect()
    };
    let none: [String; 0] = [];
    assert_eq!(
        findings("see `wire/src/lib.rs` and `crates/wire/src/lib.rs`"),
        none
    );
    assert_eq!(
        findings("`wire/src/{a,b}.rs`, `lib.rs`, `x_test.rs`, wire/src/gone.rs"),
        none
    );
    assert_eq!(
        findings("one\nsee `wire/src/gone.rs`"),
        [
            "docs/page.md:2: names wire/src/gone.rs, which is not there; name the file that it is now in"
        ]
    );
}

#[test]
fn rules_of_the_protocol_are_named_as_its_page_has_them_and_tested() {
    let page = "# Rules\n\n### a cut is a record\nText.\n\n### reads wait\nText.\n";
    let found = |test: &str, bug: &str| -> Vec<String> {
        let files = [
            ("docs/protocol.md", page),
            ("crates/wire/src/lib.rs", "//! A door.\n"),
            ("crates/wire/tests/x.rs", test),
            ("sabotage/bugs/wire.txt", bug),
        ];
        let found = findings(&Tree::of(&files)).into_iter();
        let found = found.map(|it| it.to_string());
        found.filter(|it| it.contains("rule `")).collect()
    };
    let both = "//! A door.\n\n// Rules `a cut is a record`\n// and `reads wait`.\n";
    assert_eq!(found(both, ""), [""; 0]);
    let one = "//! A door, rule `reads\n//! wait`, and `more`.\n";
    let untested = "docs/protocol.md:3: no test names the rule `a cut is a record`";
    assert_eq!(found(one, ""), [untested]);
    let strange = format!("{both}// By rule `reads go on`.\n");
    let expected = "crates/wire/tests/x.rs:3: docs/protocol.md has no rule `reads go on`";
    assert_eq!(found(&strange, ""), [expected]);
    let expected = "sabotage/bugs/wire.txt:1: docs/protocol.md has no rule `reads go on`";
    assert_eq!(found(both, "bug A\nrule reads go on\n"), [expected]);
}
