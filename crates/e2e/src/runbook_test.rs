//! Which blocks of a page are run, what counts as shown, and that a run that fails says where.

use super::*;
use crate::deadline::PATIENCE;

const PAGE: &str = "\
# Page
```sh
before
```
## Day
```sh
echo one
```

```text
one
```
```toml
what = \"else\"
```
```text
of no block
```
### Below
Words.
```sh
echo two
```
Words between.
```text
not said
```
## After
```sh
after
```
";

fn step(line: usize, script: &str, shown: Option<&str>) -> Step {
    Step {
        line,
        script: script.to_owned(),
        shown: shown.map(str::to_owned),
    }
}

#[test]
fn a_sections_blocks_are_those_of_the_shell() {
    let wanted = [
        step(6, "echo one\n", Some("one\n")),
        step(21, "echo two\n", None),
    ];
    assert_eq!(Runbook::of(PAGE, "## Day").0, wanted);
}

#[test]
fn dots_stand_for_anything() {
    for (shown, said) in [
        ("a b\n", "a   b\n"),
        ("node ... up\n", "node 1  0.1.0 up\n"),
        ("...\nlast\n", "first\nsecond\nlast\n"),
        ("...\nlast\n", "last\n"),
        ("first\n...\n", "first\n"),
        ("a...c...e\n", "abcde\n"),
        ("...ä...\n", "xäy\n"),
    ] {
        assert!(shows(shown, said), "{shown:?} {said:?}");
    }
    for (shown, said) in [
        ("a\n", "a\nb\n"),
        ("a\n...\nb\n", "a\nc\n"),
        ("node ... up\n", "node 1 down\n"),
        ("a...a\n", "a\n"),
        ("", "a\n"),
    ] {
        assert!(!shows(shown, said), "{shown:?} {said:?}");
    }
}

fn run(page: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let runbook = Runbook::of(page, "#");
    runbook.run(folder.path(), folder.path(), &[("GIVEN", "x")], PATIENCE);
}

#[test]
fn blocks_share_a_shell_and_leave_nothing() {
    let pids = tempfile::NamedTempFile::new().expect("a file");
    let page = format!(
        "#\n```sh\nset=$GIVEN\ncat /dev/zero > /dev/null & echo $! > {}\n```\n```sh\necho $set | tee file\n```\n```text\nx\n```\n",
        pids.path().display()
    );
    run(&page);
    let pid = fs::read_to_string(pids.path()).expect("a pid");
    let alive = || fs::read_to_string(format!("/proc/{}/comm", pid.trim()));
    // Nobody may have waited for the killed process yet; then its name is there still, and it runs no more.
    let state = || fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let ended = try_wait_for(PATIENCE, || {
        let runs = alive().is_ok_and(|name| name == "cat\n")
            && state().is_ok_and(|state| !state.contains(") Z "));
        (!runs).then_some(())
    });
    assert!(ended.is_some());
}

#[test]
#[should_panic(expected = "in the block of line 5")]
fn a_block_that_fails_is_named() {
    run("#\n```sh\ntrue\n```\n```sh\necho why; false; echo not\n```\n```sh\ntrue\n```\n");
}

#[test]
#[should_panic(expected = "this is not what the page shows")]
fn another_output_fails() {
    run("#\n```sh\necho a\n```\n```text\nb\n```\n");
}
