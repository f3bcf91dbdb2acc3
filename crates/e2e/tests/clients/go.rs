//! go-redis.

use crate::kill::{folders, skip_client, survives_a_kill};
use brickyard_e2e::binary::installed;
use brickyard_e2e::process::run;
use std::process::Command;
use std::time::Duration;

/// A cold cache makes Go compile its standard library.
const BUILD_PATIENCE: Duration = Duration::from_secs(400);

#[test]
fn go_redis_survives_a_node_kill() {
    let (sources, fetched) = folders("go");
    let modules = fetched.join("modules");
    let Some(go) = installed("go").filter(|_| modules.exists()) else {
        skip_client("go-redis");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("workload");
    let mut build = Command::new(go);
    build
        .current_dir(sources)
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .env("GOMODCACHE", modules)
        .env("GOFLAGS", "-mod=readonly")
        .env("GOPROXY", "off");
    let built = run(&mut build, b"", BUILD_PATIENCE).expect("go ends");
    assert!(built.status.success(), "{}", built.text());
    survives_a_kill(Command::new(program));
}
