//! go-redis.

use crate::kill::survives_a_kill;
use brickyard_e2e::process::run;
use brickyard_e2e::stock::{self, Language};
use std::process::Command;
use std::time::Duration;

/// A cold cache makes Go compile its standard library.
const BUILD_PATIENCE: Duration = Duration::from_secs(400);

#[test]
fn go_redis_survives_a_node_kill() {
    let client = Language::Go;
    let Some(fetched) = client.fetched() else {
        return;
    };
    let Some(go) = stock::runtime("go", client) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("workload");
    let mut build = Command::new(go);
    build
        .current_dir(client.sources())
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .env("GOMODCACHE", fetched.join("modules"))
        .env("GOFLAGS", "-mod=readonly")
        .env("GOPROXY", "off");
    let built = run(&mut build, b"", BUILD_PATIENCE).expect("go ends");
    assert!(built.status.success(), "{}", built.text());
    survives_a_kill(Command::new(program));
}
