//! The papers' experiments, those that start nothing: `brickyard experiments`.

use brickyard_e2e::server::brickyard;
use std::fs;

#[test]
fn experiments_leave_data_and_a_page_and_are_not_run_twice() {
    let out = tempfile::tempdir().expect("a temporary folder");
    let dir = out.path().to_str().expect("a plain path");
    let run = ["experiments", "run", "E8", "E10", "--quick", "--out", dir];
    let first = brickyard(&run);
    assert!(first.status.success(), "{}", first.text());
    for name in [
        "e08.csv", "e08.json", "e08.svg", "e10.csv", "e10.json", "e10.svg",
    ] {
        assert!(out.path().join(name).is_file(), "no {name}");
    }
    let page = fs::read_to_string(out.path().join("experiments.html")).expect("a page");
    assert!(page.contains("id=\"e8\"") && page.matches("<svg").count() >= 2);
    assert!(page.contains("Not measured yet: <code>brickyard experiments run E1</code>"));
    let second = brickyard(&run);
    assert!(second.status.success(), "{}", second.text());
    assert!(second.stdout.contains("kept: E8, E10"), "{}", second.text());
    let unknown = brickyard(&["experiments", "run", "E99", "--out", dir]);
    assert!(!unknown.status.success());
    assert!(
        unknown.text().contains("brickyard experiments list"),
        "{}",
        unknown.text()
    );
}
