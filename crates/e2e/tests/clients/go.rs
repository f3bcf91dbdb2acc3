//! go-redis, and real programs of Go.

use crate::kill::{sees_all_keys_through_a_kill, survives_a_kill, survives_a_kill_under_tls};
use crate::programs::do_what_the_page_says;
use brickyard_e2e::process::run;
use brickyard_e2e::stock::{self, Language};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A cold cache makes Go compile its standard library.
const BUILD_PATIENCE: Duration = Duration::from_secs(400);

/// The workload, built into the folder.
fn workload(folder: &TempDir) -> Option<Command> {
    built(Language::Go, folder)
}

fn built(client: Language, folder: &TempDir) -> Option<Command> {
    let fetched = client.fetched()?;
    let go = stock::runtime("go", client)?;
    let program = folder.path().join("program");
    let mut build = Command::new(go);
    build
        .current_dir(client.sources())
        .args(["build", "-trimpath", "-o"])
        .arg(&program)
        .arg(".")
        .env("GOMODCACHE", fetched.join("modules"))
        .env("GOFLAGS", "-mod=readonly")
        .env("GOPROXY", "off");
    let built = run(&mut build, b"", BUILD_PATIENCE).expect("go ends");
    assert!(built.status.success(), "{}", built.text());
    Some(Command::new(program))
}

#[test]
fn go_redis_survives_a_node_kill() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(workload) = workload(&folder) {
        survives_a_kill(workload);
    }
}

#[test]
fn go_redis_survives_a_node_kill_under_tls() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(workload) = workload(&folder) {
        survives_a_kill_under_tls(workload);
    }
}

#[test]
fn go_redis_sees_all_keys_through_a_node_kill() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(mut workload) = workload(&folder) {
        workload.arg("keyspace");
        sees_all_keys_through_a_kill(workload);
    }
}

#[test]
fn programs_of_go_do_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(programs) = built(Language::GoPrograms, &folder) {
        do_what_the_page_says("Go", programs);
    }
}
