use super::*;

const LISTED: &str = r#"
[[left-out]]
units = ["unit/type/list"]
why = "lists are not there"

[[left-out]]
units = ["unit/pubsub"]
ports = ["cluster"]
why = "each node has its own setting"

[[difference]]
unit = "unit/other"
tests = ["A", "B"]
ports = ["brick"]
why = """
for
a reason"""

[[difference]]
unit = "unit/other"
tests = ["C"]
suites = ["valkey"]
skip = true
why = "it waits"
"#;

fn listed() -> Differences {
    let mut findings = Vec::new();
    let differences = Differences::read(&Tree::of(&[(LIST, LISTED)]), &mut findings);
    assert_eq!(findings, []);
    differences
}

fn report(suite: &str, port: Port, tests: &[(&str, Outcome)]) -> Report {
    let key = |test: &str| ("unit/other".to_owned(), test.to_owned());
    Report {
        suite: suite.to_owned(),
        version: "1".to_owned(),
        port,
        units: BTreeSet::new(),
        tests: tests
            .iter()
            .map(|(test, outcome)| (key(test), outcome.clone()))
            .collect(),
    }
}

fn failed() -> Outcome {
    Outcome::Failed("so".to_owned())
}

#[test]
fn a_failure_needs_an_entry_of_its_own_port_and_suite() {
    let differences = listed();
    let at_brick = report("redis", Port::Brick, &[("A", failed()), ("B", failed())]);
    assert_eq!(differences.unlisted(&at_brick), []);
    let at_node = report("redis", Port::Node, &[("A", failed()), ("C", failed())]);
    let findings = differences.unlisted(&at_node);
    assert_eq!(findings.len(), 2);
    assert!(
        findings[0]
            .what
            .contains("redis 1, node port: unit/other: A fails")
    );
}

#[test]
fn an_entry_whose_test_passes_is_outdated() {
    let differences = listed();
    let runs = [
        report(
            "redis",
            Port::Brick,
            &[("A", failed()), ("B", Outcome::Passed)],
        ),
        report("redis", Port::Node, &[("A", Outcome::Passed)]),
    ];
    let findings = differences.outdated(&runs);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].what.contains("unit/other: B passes"));
}

#[test]
fn tests_are_skipped_where_the_entry_says() {
    let differences = listed();
    let skipped = |suite: &str| differences.skipped(&report(suite, Port::Node, &[]), "unit/other");
    assert_eq!(skipped("redis"), BTreeSet::new());
    assert_eq!(skipped("valkey"), BTreeSet::from(["C".to_owned()]));
    assert!(differences.leaves_out("unit/type/list", Port::Node));
    assert!(differences.leaves_out("unit/pubsub", Port::Cluster));
    assert!(!differences.leaves_out("unit/pubsub", Port::Node));
    assert!(!differences.leaves_out("unit/other", Port::Node));
}

#[test]
fn an_entry_without_a_reason_is_a_finding() {
    let tree = Tree::of(&[(LIST, "[[difference]]\nunit = \"u\"\ntests = [\"A\"]\n")]);
    let mut findings = Vec::new();
    Differences::read(&tree, &mut findings);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].what.contains("needs `unit`, `tests` and `why`"));
}
