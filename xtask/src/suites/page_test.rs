use super::super::servers::Port;
use super::*;

const PAGE: &str = "# Suites
| Suite | Port | Units | Passed | Failed as listed | Not run as listed | Left out by the suite itself |
|---|---|---|---|---|---|---|
| Redis 1 | brick | 1 | 1 | 0 | 0 |  |
| Redis 1 | node | 1 | 1 | 0 | 0 |  |

| Unit | Tests | Where | Why |
|---|---|---|---|
| other | old | | gone |

| Units | Where | Why they are not run |
|---|---|---|
The end.
";

#[test]
fn page_has_new_rows_of_what_was_run_and_keeps_the_others() {
    let key = |test: &str| ("unit/other".to_owned(), test.to_owned());
    let report = Report {
        suite: "redis".to_owned(),
        version: "1".to_owned(),
        port: Port::Node,
        units: BTreeSet::from(["unit/other".to_owned()]),
        tests: BTreeMap::from([
            (key("A"), Outcome::Passed),
            (key("B"), Outcome::Failed("so".to_owned())),
            (key("C"), Outcome::Skipped),
            (key("D"), Outcome::Ignored("Tag: slow denied".to_owned())),
            (key("E"), Outcome::Ignored("Tag: slow denied".to_owned())),
        ]),
    };
    let differences = Differences {
        list: vec![Difference {
            unit: "unit/other".to_owned(),
            tests: vec!["B".to_owned(), "a|b".to_owned()],
            why: "another layout".to_owned(),
            suites: vec!["redis".to_owned()],
            ports: vec!["node".to_owned()],
            is_skipped: false,
        }],
        units: vec![LeftOut {
            units: vec!["unit/sort".to_owned(), "unit/geo".to_owned()],
            why: "not there".to_owned(),
            ports: vec!["node".to_owned()],
        }],
    };
    let page = update(PAGE, &[Figures::of(&report, &differences)], &differences);
    let expected = "# Suites
| Suite | Port | Units | Passed | Failed as listed | Not run as listed | Left out by the suite itself |
|---|---|---|---|---|---|---|
| Redis 1 | brick | 1 | 1 | 0 | 0 |  |
| Redis 1 | node | 1 | 1 | 1 | 1 | 2 Tag: slow denied |

| Unit | Tests | Where | Why |
|---|---|---|---|
| other | B<br>a\\|b | Redis, node port | another layout |

| Units | Where | Why they are not run |
|---|---|---|
| sort, geo | node port | not there |
The end.
";
    assert_eq!(page, expected);
    assert_eq!(update(&page, &[], &differences), page);
}
