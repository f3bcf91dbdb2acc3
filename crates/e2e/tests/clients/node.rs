//! ioredis.

use crate::kill::{survives_a_kill, survives_a_kill_under_tls_as_a_user};
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

fn workload() -> Option<Command> {
    let client = Language::Node;
    let fetched = client.fetched()?;
    let node = stock::runtime("node", client)?;
    let mut workload = Command::new(node);
    workload
        .arg(client.sources().join("workload.js"))
        .env("NODE_PATH", fetched.join("node_modules"));
    Some(workload)
}

#[test]
fn ioredis_survives_a_node_kill() {
    if let Some(workload) = workload() {
        survives_a_kill(workload);
    }
}

#[test]
fn ioredis_survives_a_node_kill_under_tls_as_a_user() {
    if let Some(workload) = workload() {
        survives_a_kill_under_tls_as_a_user(workload);
    }
}
