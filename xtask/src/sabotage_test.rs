use super::*;

const CODE: &str = "//! A crate.
fn is_leased(now: u32, lease: u32) -> bool {
    now < lease && is_open(now)
}

fn send(
    link: u32,
) {
    queue(
        link,
        1,
    );
    match link {
        1 => stop(),
        _ => {}
    }
}
";

fn table(bugs: &str) -> (Vec<Bug>, Vec<Finding>) {
    let mut findings = Vec::new();
    let bugs = table::parse("sabotage/bugs/x.txt", bugs, &mut findings);
    (bugs, findings)
}

fn planted(text: &str) -> (String, Vec<String>) {
    let (bugs, mut findings) = table(text);
    let text = plant::plant("x.rs", CODE, &bugs, &mut findings);
    (text, findings.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn assert_planted(text: &str, expected: &str) {
    let (text, findings) = planted(text);
    assert_eq!(findings, [""; 0]);
    assert!(text.contains(expected), "{text}");
}

#[track_caller]
fn assert_refused(text: &str, expected: &str) {
    let (_, findings) = planted(text);
    assert_eq!(findings, [expected]);
}

#[test]
fn expression_becomes_a_choice() {
    assert_planted(
        "bug A\nin x.rs\n  [-now < lease-]{+true+} &&",
        "(if ::brickyard_sabotage::is_on(0) { true } else { now < lease }) && is_open",
    );
}

#[test]
fn white_space_and_the_last_comma_do_not_count() {
    assert_planted(
        "bug A\nin x.rs\n  [-queue(link, 1);-]{++}",
        "if ::brickyard_sabotage::is_on(0) {  } else { queue(\n        link,\n        1,\n    ); }\n",
    );
}

#[test]
fn statement_is_added_where_nothing_is_taken_away() {
    assert_planted(
        "bug A\nin x.rs\n  fn send(link: u32) {\n  [--]{+return;+}\n  queue",
        ") {\n    if ::brickyard_sabotage::is_on(0) { return; } else {  } queue",
    );
}

#[test]
fn text_may_ask_by_itself() {
    assert_planted(
        "bug A\nin x.rs\n  [--]{+1 if BUG => {}+}\n  1 => stop(),",
        "{\n        1 if ::brickyard_sabotage::is_on(0) => {} 1 => stop(),",
    );
}

#[test]
fn bugs_may_change_the_same_text_or_a_part_of_it() {
    assert_planted(
        "bug A\nin x.rs\n  [-now < lease-]{+true+} &&
bug B\nin x.rs\n  [-now < lease && is_open(now)-]{+false+}
bug C\nin x.rs\n  [-now < lease-]{+now <= lease+} &&",
        "(if ::brickyard_sabotage::is_on(1) { false } else { \
         (if ::brickyard_sabotage::is_on(0) { true } else \
         if ::brickyard_sabotage::is_on(2) { now <= lease } else \
         { now < lease }) && is_open(now) })",
    );
}

#[test]
fn text_that_is_not_there_or_too_often_names_the_bug() {
    assert_refused(
        "bug Gone\nin x.rs\n  [-now <= lease-]{+true+}",
        "sabotage/bugs/x.txt:2: Gone: its text occurs 0 times, not 1, in x.rs",
    );
    assert_refused(
        "bug Often\nin x.rs\n  [-now-]{+0+}",
        "sabotage/bugs/x.txt:2: Often: its text occurs 3 times, not 1, in x.rs",
    );
    let (text, findings) = planted("bug Thrice\nin x.rs 3 times\n  [-now-]{+0+}");
    assert_eq!((text.matches("{ 0 }").count(), findings.len()), (3, 0));
}

#[test]
fn texts_that_overlap_are_refused() {
    assert_refused(
        "bug A\nin x.rs\n  [-now < lease-]{+true+} &&
bug B\nin x.rs\n  [-lease && is_open(now)-]{+false+}",
        "sabotage/bugs/x.txt:4: B: its text overlaps A's in x.rs",
    );
}

#[test]
fn table_that_says_too_little_is_refused() {
    assert_refused(
        "bug A\nin x.rs\n  now < lease",
        "sabotage/bugs/x.txt:2: A: nothing is marked `[-...-]{+...+}`",
    );
    assert_refused(
        "bug A\nwhere x.rs",
        "sabotage/bugs/x.txt:2: `where` is none of bug, rule, wrong, quick, slow, tests, unfound, in",
    );
    let files = [
        (
            "sabotage/bugs/x.txt",
            "bug A\nwrong It\nin x.rs\n  [-1-]{+2+}\nbug A\nquick brick\nwrong It\nin y.rs\n  [-1-]{+2+}\n",
        ),
        ("x.rs", "1"),
    ];
    let found: Vec<String> = findings(&Tree::of(&files))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        [
            "sabotage/bugs/x.txt:1: A: needs checkers (`quick`, `slow`) or `tests`, or else `unfound`",
            "sabotage/bugs/x.txt:5: A: is there twice",
            "sabotage/bugs/x.txt:5: A: no test has a checker `brick`",
            "sabotage/bugs/x.txt:8: A: its text occurs 0 times, not 1, in y.rs",
        ]
    );
}

#[test]
fn checker_that_did_not_hunt_or_did_not_find_is_told() {
    let (bugs, _) = table("bug A\nquick brick, sim\nslow store\nbug B\nquick brick\n");
    let told = |lines: &str, is_every| {
        let found = missed(&bugs, lines, is_every);
        found.iter().map(|it| it.what.clone()).collect::<Vec<_>>()
    };
    let lines =
        "sabotage: A brick 3 [3, seed 3]: it says\nsabotage: B brick - [-, reached 7 times]\n";
    assert_eq!(
        told(lines, false),
        ["A: sim did not hunt for it", "B: brick did not find it"]
    );
    assert_eq!(told(lines, true).len(), 3);
}

#[test]
fn list_for_the_copy_is_rust() {
    let (bugs, _) = table("bug A\nquick brick, sim\nslow store\n");
    let list = question_list(&bugs);
    assert!(
        list.contains("Planted { name: \"A\", quick: &[\"brick\", \"sim\"], slow: &[\"store\"] },")
    );
    assert!(list.starts_with("&[") && list.ends_with("];"));
}
