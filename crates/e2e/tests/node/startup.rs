//! Starting under wrong circumstances: each refusal says what, where and what to do.

use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::port::free_block;
use brickyard_e2e::process::{Finished, run};
use brickyard_e2e::server::{Setup, brickyard, program};
use std::fs;

fn serve(arguments: &[&str]) -> Finished {
    let port = free_block(2).to_string();
    let listen = format!("127.0.0.1:{port}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().to_str().expect("a plain path");
    let mut command = program();
    command.args(["server", "--bricks", "1"]);
    if !arguments.contains(&"--listen") {
        command.args(["--listen", &listen]);
    }
    if !arguments.contains(&"--data") {
        command.args(["--data", data]);
    }
    run(command.args(arguments), b"", PATIENCE).expect("a refused server ends")
}

fn assert_refused(finished: &Finished, words: &[&str]) {
    let text = finished.text();
    assert!(!finished.status.success(), "was not refused:\n{text}");
    for word in words {
        assert!(
            text.to_lowercase().contains(&word.to_lowercase()),
            "'{word}' is not in:\n{text}"
        );
    }
    assert!(!text.contains("panicked"), "a refusal is no panic:\n{text}");
}

#[test]
fn data_folder_in_use_is_refused() {
    let server = Setup::brickyard(1).start();
    let data = server.data();
    let folder = data.to_str().expect("a plain path");
    assert_refused(&serve(&["--data", folder]), &[folder, "use"]);
    assert_eq!(
        server.connect().line("PING").text(),
        "PONG",
        "the first server goes on"
    );
}

#[test]
fn data_folder_of_another_format_is_refused_and_left_alone() {
    let mut server = Setup::brickyard(1).start();
    server.connect().must(&["SET", "k", "v"]);
    server.stop();
    let data = server.data();
    let stamp = data.join("FORMAT");
    let text = fs::read_to_string(&stamp).expect("the data folder has a format stamp");
    let other = text.replacen("format 1", "format 99", 1);
    fs::write(&stamp, &other).expect("the stamp can be written");
    let folder = data.to_str().expect("a plain path");
    assert_refused(&serve(&["--data", folder]), &["99", "format 1 alone"]);
    assert_eq!(
        fs::read_to_string(&stamp).expect("still there"),
        other,
        "the folder was changed"
    );
    fs::write(&stamp, text).expect("the stamp can be written");
    server.restart();
    assert_eq!(server.connect().call(&["GET", "k"]).text(), "v");
}

#[test]
fn another_number_of_bricks_than_the_data_has_is_refused() {
    let mut server = Setup::brickyard(2).start();
    server.stop();
    let data = server.data();
    let folder = data.to_str().expect("a plain path");
    // serve() asks for one brick.
    assert_refused(&serve(&["--data", folder]), &["bricks", "2"]);
}

#[test]
fn unwritable_data_folder_is_refused() {
    assert_refused(&serve(&["--data", "/proc/brickyard"]), &["/proc/brickyard"]);
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = file.path().to_str().expect("a plain path");
    assert_refused(&serve(&["--data", path]), &[path]);
}

#[test]
fn port_in_use_is_refused() {
    let server = Setup::brickyard(1).start();
    let listen = format!("127.0.0.1:{}", server.port());
    assert_refused(
        &serve(&["--listen", &listen]),
        &[&server.port().to_string(), "use"],
    );
}

#[test]
fn public_address_without_users_is_refused_unless_insecure() {
    let port = free_block(1);
    assert_refused(
        &serve(&["--listen", &format!("0.0.0.0:{port}")]),
        &["listen", "user", "insecure"],
    );
}

#[test]
fn unreadable_configuration_is_refused_with_its_place() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = file.path().to_str().expect("a plain path");
    let cases: &[(&str, &[&str])] = &[
        (
            "maxclients = 5\nmaxclient = 6\n",
            &["maxclient", "2", "maxclients"],
        ),
        ("maxclients = \n", &["TOML"]),
        ("maxclients = \"many\"\n", &["maxclients", "many"]),
        (
            "segment_bytes = \"3 parsecs\"\n",
            &["segment_bytes", "3 parsecs"],
        ),
        (
            "[[user]]\nname = \"a\"\npassword_hash = \"secret\"\n",
            &["password_hash"],
        ),
    ];
    for (text, words) in cases {
        fs::write(file.path(), text).expect("the file can be written");
        assert_refused(&serve(&["--config", path]), words);
    }
    assert_refused(
        &serve(&["--config", "/nowhere/brickyard.toml"]),
        &["/nowhere/brickyard.toml"],
    );
}

/// Several problems are told at once, so that nobody has to start ten times.
#[test]
fn all_problems_of_a_configuration_are_told_together() {
    let finished = serve(&[
        "--maxclients",
        "0",
        "--segment-bytes",
        "1",
        "--log-level",
        "nonsense==",
    ]);
    assert_refused(&finished, &["maxclients", "segment"]);
}

#[test]
fn printed_configuration_is_a_configuration() {
    let printed = brickyard(&["config", "print"]);
    assert!(printed.status.success(), "{}", printed.text());
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), &printed.stdout).expect("the file can be written");
    let path = file.path().to_str().expect("a plain path");
    let again = brickyard(&["config", "print", "--config", path]);
    assert!(again.status.success(), "{}", again.text());
    let settings = |text: &str| -> Vec<String> {
        let is_setting = |line: &&str| !line.starts_with('#') && !line.is_empty();
        text.lines().filter(is_setting).map(str::to_owned).collect()
    };
    assert_eq!(settings(&printed.stdout), settings(&again.stdout));
}

#[test]
fn environment_is_a_source_of_configuration() {
    let finished = run(
        program()
            .args(["config", "print"])
            .env("BRICKYARD_MAXCLIENTS", "123"),
        b"",
        PATIENCE,
    )
    .expect("config print ends");
    assert!(
        finished.stdout.contains("maxclients = 123"),
        "{}",
        finished.text()
    );
}
