//! ioredis.

use crate::kill::survives_a_kill;
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

#[test]
fn ioredis_survives_a_node_kill() {
    let client = Language::Node;
    let Some(fetched) = client.fetched() else {
        return;
    };
    let Some(node) = stock::runtime("node", client) else {
        return;
    };
    let mut workload = Command::new(node);
    workload
        .arg(client.sources().join("workload.js"))
        .env("NODE_PATH", fetched.join("node_modules"));
    survives_a_kill(workload);
}
