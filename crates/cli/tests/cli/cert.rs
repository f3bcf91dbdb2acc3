//! `brickyard cert`: what it makes, with which rights, and that it writes nothing over.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::{brickyard, text};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;
use tempfile::TempDir;

fn cert(dir: &TempDir, arguments: &[&str]) -> Output {
    let place = ["--dir", dir.path().to_str().unwrap()];
    brickyard(&[&["cert"], arguments, &place].concat())
}

#[test]
fn an_authority_issues_and_keys_are_their_owners_alone() {
    let dir = TempDir::new().unwrap();
    for arguments in [
        &["init"][..],
        &["node", "n1", "--host", "10.0.0.1,n1.example"],
        &["client", "ann"],
    ] {
        let output = cert(&dir, arguments);
        assert!(output.status.success(), "{}", text(&output));
    }
    for name in ["ca", "n1", "ann"] {
        let at = |kind: &str| dir.path().join(format!("{name}.{kind}"));
        let rights = at("key").metadata().unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600, "{name}");
        let certificate = std::fs::read_to_string(at("crt")).unwrap();
        assert!(
            certificate.starts_with("-----BEGIN CERTIFICATE-----"),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_written_over() {
    let dir = TempDir::new().unwrap();
    for arguments in [&["init"][..], &["node", "n1"]] {
        assert!(cert(&dir, arguments).status.success());
        let before: Vec<_> = contents(&dir);
        let again = cert(&dir, arguments);
        assert_eq!(again.status.code(), Some(1), "{}", text(&again));
        assert!(
            text(&again).contains("is not written over"),
            "{}",
            text(&again)
        );
        assert_eq!(contents(&dir), before);
    }
    // A key without its certificate is not lost either.
    std::fs::remove_file(dir.path().join("n1.crt")).unwrap();
    let before = contents(&dir);
    assert!(text(&cert(&dir, &["node", "n1"])).contains("is not written over"));
    assert_eq!(contents(&dir), before);
}

#[test]
fn errors_say_what_to_do() {
    let dir = TempDir::new().unwrap();
    let early = cert(&dir, &["node", "n1"]);
    assert!(
        text(&early).contains("brickyard cert init"),
        "{}",
        text(&early)
    );
    assert!(cert(&dir, &["init"]).status.success());
    for (arguments, expected) in [
        (&["node", "../n1"][..], "cannot be a file's name"),
        (&["client", "ca"], "cannot be a file's name"),
        (&["node", "n1", "--host", "a b"], "is not a host name"),
    ] {
        let output = cert(&dir, arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
    assert_eq!(contents(&dir).len(), 2, "only the authority is there");
}

fn contents(dir: &TempDir) -> Vec<(String, String)> {
    let files = std::fs::read_dir(dir.path()).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}
