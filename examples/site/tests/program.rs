//! The finished program from outside, where there is no cluster; with one it is tried in `crates/e2e/tests/services`.

use std::net::TcpListener;
use std::process::{Command, Output};

fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard-example-site"));
    let names = std::env::vars().map(|(name, _)| name);
    for name in names.filter(|it| it.starts_with("BRICKYARD_")) {
        command.env_remove(name);
    }
    command.args(arguments).output().expect("it can be started")
}

#[test]
fn help_says_how_to_try_it() {
    let help = program(&["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8_lossy(&help.stdout);
    for words in ["brickyard dev", "--cluster", "--listen", "cargo run -p"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_is_no_option_is_told_apart_from_what_does_not_work() {
    assert_eq!(program(&["--lisen", "x"]).status.code(), Some(2));
    // A port that was free a moment ago: nobody listens there.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = listener.local_addr().expect("its address").to_string();
    drop(listener);
    let failed = program(&["--cluster", &nobody]);
    assert_eq!(failed.status.code(), Some(1));
    let text = String::from_utf8_lossy(&failed.stderr);
    assert!(text.contains(&nobody), "{text}");
    assert!(text.contains("brickyard dev"), "{text}");
}
