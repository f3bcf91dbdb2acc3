use super::*;

const OUTPUT: &str = "\
Starting test server at port 21079
[ready]: 7
Testing unit/type/string
[testing]: SET and GET an item
[ok]: SET and GET an item (1 ms)
[ok]: SETNX (with a bracket) (0 ms)
[ignore]: BITCOUNT of much: large memory flag not provided
[ignore]: DEBUG JMAP: Tag: needs:debug denied
[ignore]: Not supported on external server
[ignore]: Tag: needs:repl denied
[skip]: ours
[err]: SETRANGE in tests/unit/type/string.tcl
Expected 'a' to be equal to 'b' (context: proc x)
second line
[ok]: SETRANGE (2 ms)
[1/1 done]: unit/type/string (3 seconds)

                   The End

!!! WARNING The following tests failed:

*** [err]: SETRANGE in tests/unit/type/string.tcl
";

fn named(name: &str, outcome: Outcome) -> (String, Outcome) {
    (name.to_owned(), outcome)
}

#[test]
fn every_kind_of_line_is_read() {
    let ignored = |why: &str| Outcome::Ignored(why.to_owned());
    let details = "\nExpected 'a' to be equal to 'b' (context: proc x)\nsecond line";
    let expected = vec![
        named("SET and GET an item", Outcome::Passed),
        named("SETNX (with a bracket)", Outcome::Passed),
        named(
            "BITCOUNT of much",
            ignored("large memory flag not provided"),
        ),
        named("DEBUG JMAP", ignored("needs:debug denied")),
        named("(block 4)", ignored("Not supported on external server")),
        named("(block 5)", ignored("needs:repl denied")),
        named("ours", Outcome::Skipped),
        named("SETRANGE", Outcome::Failed(details.to_owned())),
        named("SETRANGE", Outcome::Passed),
    ];
    assert_eq!(outcomes(OUTPUT), expected);
}

#[test]
fn a_test_that_failed_once_has_failed() {
    let mut report = report();
    let count = report.add("unit/type/string", OUTPUT);
    let expected = Count {
        passed: 2,
        failed: 1,
        left_out: 5,
    };
    assert_eq!(count, expected);
}

#[test]
fn what_ends_a_unit_early_is_a_failure() {
    let aborted = |output: &str| {
        let last = outcomes(output).pop().expect("a failure");
        assert_eq!(last.0, ABORTED);
        last.1
    };
    let thrown = "[exception]: Executing test client: ERR unknown command\n";
    assert!(matches!(aborted(thrown), Outcome::Failed(_)));
    let outside = "[err]: ERR no such thing\nwhile executing\n\n                   The End\n";
    assert!(matches!(aborted(outside), Outcome::Failed(_)));
    let killed = "[ok]: PING (0 ms)\n";
    assert!(matches!(aborted(killed), Outcome::Failed(_)));
}

fn report() -> Report {
    Report {
        suite: "redis".to_owned(),
        version: "7.2.6".to_owned(),
        port: Port::Node,
        units: BTreeSet::new(),
        tests: BTreeMap::new(),
    }
}
