//! How much of each service is about the table, as examples/README.md says: counted here, and written there if `BRICKYARD_REFRESH` is set.
//!
//! Counted are lines of code: neither blank ones nor comments nor tests. `store.rs` is all that a service does with the table.
//!
//! Source: Gribble et al., "Scalable, Distributed Data Structures for Internet Service Construction" (OSDI 2000), section 6.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "README.md";

/// What stands around the table in the page.
const BEGIN: &str = "<!-- lines: begin -->\n";
const END: &str = "<!-- lines: end -->";

const REFRESH: &str = "BRICKYARD_REFRESH=1 cargo test -p brickyard-example-service --test lines";

/// A service, and what the papers say of theirs.
const SERVICES: [(&str, &str); 4] = [
    (
        "presence",
        "a person-month, less than a day of it for the table",
    ),
    ("site", "900 lines, 50 of them for the table"),
    ("keystore", "no figures"),
    ("recommender", "no figures"),
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Lines of code of a file, up to its tests.
fn code_lines(text: &str) -> usize {
    let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
    let lines = text[..tests].lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

/// Lines of code of a crate: all, and those of its `store.rs`.
fn lines_of(name: &str) -> (usize, usize) {
    let (mut all, mut table) = (0, 0);
    let folder = examples().join(name).join("src");
    for entry in fs::read_dir(&folder).expect("the crate's sources") {
        let path = entry.expect("a file").path();
        let file = path.file_name().and_then(|it| it.to_str());
        let file = file.expect("a plain name");
        if !file.ends_with(".rs") || file.ends_with("_test.rs") {
            continue;
        }
        let count = code_lines(&fs::read_to_string(&path).expect("it can be read"));
        all += count;
        if file == "store.rs" {
            table = count;
        }
    }
    (all, table)
}

fn table() -> String {
    let mut table = "| Service | Lines | For the table | Without it | The paper's |\n|---|---:|---:|---:|---|\n".to_owned();
    for (name, paper) in SERVICES {
        let (all, of_table) = lines_of(name);
        assert!(of_table > 0, "{name} has no store.rs");
        let without = all - of_table;
        let _ = writeln!(
            table,
            "| `{name}` | {all} | {of_table} | {without} | {paper} |"
        );
    }
    let (shared, _) = lines_of("service");
    let swap = fs::read_to_string(examples().join("service/src/swap.rs"));
    let swap = code_lines(&swap.expect("what settles a change"));
    let _ = writeln!(
        table,
        "| `service`, which all share | {shared} | {swap} | {} | |",
        shared - swap
    );
    table
}

#[test]
fn page_says_how_many_lines_are_for_the_table() {
    let path = examples().join(PAGE);
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (_, after) = rest.split_once(END).expect("where it ends");
    let current = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os("BRICKYARD_REFRESH").is_some() {
        fs::write(&path, current).expect("the page can be rewritten");
    } else {
        assert!(page == current, "the figures have changed: {REFRESH}");
    }
}

#[test]
fn comments_blanks_and_tests_are_no_code() {
    let text = "//! Door.\n\nuse a;\n/// Says.\nfn f() {\n    // Why.\n    g();\n}\n\n#[cfg(test)]\nmod t {\n    fn h() {}\n}\n";
    assert_eq!(code_lines(text), 4);
}

#[test]
fn nothing_but_the_store_speaks_to_the_table() {
    for (name, _) in SERVICES {
        let folder = examples().join(name).join("src");
        for entry in fs::read_dir(&folder).expect("the crate's sources") {
            let path = entry.expect("a file").path();
            if path.ends_with("store.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("it can be read");
            for word in ["brickyard_client::Table", "Table::", "SetOptions", "swap("] {
                assert!(!text.contains(word), "{} says {word}", path.display());
            }
        }
    }
}
