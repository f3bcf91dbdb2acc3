//! ioredis.

use crate::kill::{folders, skip_client, survives_a_kill};
use brickyard_e2e::binary::installed;
use std::process::Command;

#[test]
fn ioredis_survives_a_node_kill() {
    let (sources, fetched) = folders("node");
    let modules = fetched.join("node_modules");
    let Some(node) = installed("node").filter(|_| modules.join("ioredis").exists()) else {
        skip_client("ioredis");
        return;
    };
    let mut workload = Command::new(node);
    workload
        .arg(sources.join("workload.js"))
        .env("NODE_PATH", modules);
    survives_a_kill(workload);
}
