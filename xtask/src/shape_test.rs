//! Each figure on a small tree that was made for it.

use super::*;

const MANIFEST: &str = "[package]\n";

fn measure(files: &[(&str, &str)]) -> Shape {
    let mut all = files.to_vec();
    for name in ["brick", "wire", "sim"] {
        let root = format!("crates/{name}/");
        if files.iter().any(|(path, _)| path.starts_with(&root)) {
            all.push((format!("{root}Cargo.toml").leak(), MANIFEST));
        }
    }
    Shape::measure(&Tree::of(&all)).expect("the tree is Rust")
}

fn sizes(shape: &Shape) -> Vec<(&str, usize, usize, usize)> {
    let mut sizes = Vec::new();
    for it in &shape.structs {
        sizes.push((it.name.as_str(), it.fields, it.methods, it.files));
    }
    sizes
}

#[test]
fn struct_is_counted_over_all_files_of_its_crate() {
    let shape = measure(&[
        (
            "crates/brick/src/lib.rs",
            "mod core; mod read; #[cfg(test)] mod core_test; pub use core::Core;",
        ),
        (
            "crates/brick/src/core.rs",
            "pub struct Core { a: u8, #[cfg(test)] b: u8 }
             impl Core { fn new() {} #[cfg(test)] fn fake() {} }
             impl Drop for Core { fn drop(&mut self) {} }",
        ),
        (
            "crates/brick/src/read.rs",
            "use crate::Core; impl Core { const A: u8 = 1; fn read(&self) {} }",
        ),
        (
            "crates/brick/src/core_test.rs",
            "use crate::Core; impl Core { fn test(&self) {} }",
        ),
    ]);
    assert_eq!(sizes(&shape), [("brick::Core", 1, 3, 2)]);
}

#[test]
fn structs_of_one_name_are_told_apart_by_module() {
    let shape = measure(&[
        ("crates/brick/src/lib.rs", "mod a; mod b;"),
        (
            "crates/brick/src/a.rs",
            "struct Entry; impl Entry { fn f() {} }",
        ),
        (
            "crates/brick/src/b.rs",
            "struct Entry { n: u8 } use super::a as c; impl c::Entry { fn g() {} }",
        ),
    ]);
    assert_eq!(
        sizes(&shape),
        [("brick::a::Entry", 0, 2, 2), ("brick::b::Entry", 1, 0, 0)]
    );
}

fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    measure(files).circles.remove("wire").unwrap_or_default()
}

const DOOR: &str = "mod a; mod b; mod c; pub use a::A; pub use b::B; pub use c::C;";

#[test]
fn circle_is_seen_through_a_door_that_is_no_part_of_it() {
    let found = circles(&[
        ("crates/wire/src/lib.rs", DOOR),
        ("crates/wire/src/a.rs", "use crate::B; pub struct A(B);"),
        (
            "crates/wire/src/b.rs",
            "pub struct B; fn f() { let _ = vec![crate::C::new()]; }",
        ),
        ("crates/wire/src/c.rs", "use super::A; pub struct C(A);"),
    ]);
    let files = ["a", "b", "c"].map(|it| format!("crates/wire/src/{it}.rs"));
    assert_eq!(found, [files.to_vec()]);
}

#[test]
fn imports_one_way_and_those_of_tests_are_no_circle() {
    let found = circles(&[
        ("crates/wire/src/lib.rs", DOOR),
        (
            "crates/wire/src/a.rs",
            "use crate::{B, C}; pub struct A(B, C);",
        ),
        ("crates/wire/src/b.rs", "use crate::C; pub struct B(C);"),
        (
            "crates/wire/src/c.rs",
            "pub struct C; #[cfg(test)] mod tests { use crate::A; } #[test] fn f() { crate::A::new(); }",
        ),
    ]);
    assert_eq!(found, Vec::<Vec<String>>::new());
}

#[test]
fn parent_and_child_that_name_each_other_are_a_circle() {
    let found = circles(&[
        ("crates/wire/src/lib.rs", "mod resp;"),
        (
            "crates/wire/src/resp.rs",
            "mod decode; pub struct Frame; fn f() { decode::run(); }",
        ),
        (
            "crates/wire/src/resp/decode.rs",
            "use super::Frame; pub fn run() -> Frame { Frame }",
        ),
    ]);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
}

#[test]
fn lines_have_code_and_go_where_they_are_compiled() {
    let shape = measure(&[
        (
            "crates/wire/src/lib.rs",
            "//! A door.\n\n/// A comment.\npub fn f() {\n    // why\n    let a = \"one\n\n    three\"; /* and */\n}\n\
             #[cfg(test)]\nmod tests {\n    fn t() {}\n}\n#[cfg(unix)]\nfn g() {}\n",
        ),
        ("crates/wire/tests/all.rs", "fn t() {\n}\n"),
        (
            "crates/sim/src/lib.rs",
            "fn s() {}\n#[cfg(test)]\nfn t() {}\n",
        ),
    ]);
    // `f` with its string of three lines, and `g`.
    assert_eq!(shape.lines[&Kind::Server], 7);
    assert_eq!(shape.lines[&Kind::Tests], 4 + 2);
    // What tests the simulator is part of it.
    assert_eq!(shape.lines[&Kind::Simulator], 3);
}

#[test]
fn asserts_count_outside_of_tests_and_debug_ones_apart() {
    let shape = measure(&[(
        "crates/wire/src/lib.rs",
        "fn f() { assert!(true); debug_assert_eq!(1, 1); if true { assert_ne!(1, 2) } m!(assert_eq!(1, 1)); }
         #[test] fn t() { assert!(true); }
         fn g() { let assert = 1; }",
    )]);
    let it = &shape.asserts[0];
    assert_eq!((it.asserts, it.debug, it.lines), (3, 1, 2));
    assert!((it.density() - 1500.0).abs() < 0.001);
}

#[test]
fn twins_are_public_types_of_the_product() {
    let shape = measure(&[
        (
            "crates/brick/src/lib.rs",
            "pub struct Entry; pub struct One; pub(crate) struct Two; pub struct Three;",
        ),
        (
            "crates/wire/src/lib.rs",
            "pub enum Entry {} pub fn One() {} pub struct Two;",
        ),
        ("crates/sim/src/lib.rs", "pub struct Three;"),
    ]);
    assert_eq!(shape.twins.keys().collect::<Vec<_>>(), ["Entry"]);
}

#[test]
fn switches_are_calls_in_the_product() {
    let shape = measure(&[
        (
            "crates/brick/src/lib.rs",
            "fn f() { if sabotage::is(Bug::A) || !sabotage::is(Bug::B) {} } #[cfg(test)] fn t() { sabotage::is(Bug::C); }",
        ),
        ("crates/sim/src/lib.rs", "fn f() { sabotage::is(Bug::A); }"),
    ]);
    assert_eq!(shape.switches, [("crates/brick/src/lib.rs".to_owned(), 2)]);
}

#[test]
fn step_that_the_code_no_longer_has_is_told() {
    let list = "# a title\nwire/src/lib.rs decode bytes\nwire/src/lib.rs encode\nwire/src/gone.rs f x\nwire/src/lib.rs decode\n";
    let shape = measure(&[
        ("docs/replicated-set.txt", list),
        (
            "crates/wire/src/lib.rs",
            "fn decode() {} #[cfg(test)] fn encode() {}",
        ),
    ]);
    let told: Vec<String> = shape.findings().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "docs/replicated-set.txt:3: no function `encode` in crates/wire/src/lib.rs; trace the way again",
            "docs/replicated-set.txt:4: no file crates/wire/src/gone.rs; trace the way again and list what is there",
        ]
    );
    let Trace {
        files,
        crates,
        visits,
        most,
    } = shape.way;
    assert_eq!((files, crates, visits, most), (2, 1, 3, 2));
}

const LIMITS: &str = "[goals.fields]\nany = 2\n[goals.asserts]\nwire = 10\n[limits.fields]\n\"wire::A\" = 4\n[limits.asserts]\nwire = 2\n";

fn fields(name: &str, value: usize) -> Figure {
    Figure::at_most("fields", name, value)
}

fn density(value: f64) -> Figure {
    Figure {
        value,
        sense: Sense::AtLeast,
        rounding: Rounding::Tenths,
        ..Figure::at_most("asserts", "wire", 0)
    }
}

#[test]
fn figure_that_is_worse_than_its_limit_or_goal_is_told() {
    let limits = Limits::parse(LIMITS).expect("limits");
    let is_fine = |figure| limits.findings(&[figure]).is_empty();
    assert!(is_fine(fields("wire::A", 4)));
    assert!(!is_fine(fields("wire::A", 5)));
    assert!(is_fine(fields("wire::New", 2)));
    assert!(!is_fine(fields("wire::New", 3)));
    assert!(is_fine(density(2.0)));
    assert!(!is_fine(density(1.9)));
    assert!(is_fine(Figure::at_most("lines", "client", 9999)));
}

#[test]
fn limits_are_lowered_and_never_raised() {
    let limits = Limits::parse(LIMITS).expect("limits");
    let better = [fields("wire::A", 3), density(2.37)];
    assert_eq!(limits.slack(&better), 2);
    let lower = limits.lowered(&better);
    assert!(
        lower
            .text()
            .ends_with("[limits.asserts]\nwire = 2.3\n\n[limits.fields]\n\"wire::A\" = 3\n")
    );
    assert_eq!(Limits::parse(&lower.text()).expect("its own text"), lower);
    let worse = [fields("wire::A", 9), fields("wire::New", 7), density(0.5)];
    assert_eq!(limits.lowered(&worse), limits);
    let at_goal = [fields("wire::A", 2), density(11.0)];
    assert!(!limits.lowered(&at_goal).text().contains("limits."));
}
