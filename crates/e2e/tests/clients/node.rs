//! ioredis, and real programs of Node.

use crate::kill::{
    sees_all_keys_through_a_kill, survives_a_kill, survives_a_kill_under_tls_as_a_user,
};
use crate::programs::do_what_the_page_says;
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

fn program(file: &str) -> Option<Command> {
    let client = Language::Node;
    let fetched = client.fetched()?;
    let node = stock::runtime("node", client)?;
    let mut workload = Command::new(node);
    workload
        .arg(client.sources().join(file))
        .env("NODE_PATH", fetched.join("node_modules"));
    Some(workload)
}

#[test]
fn ioredis_survives_a_node_kill() {
    if let Some(workload) = program("workload.js") {
        survives_a_kill(workload);
    }
}

#[test]
fn ioredis_survives_a_node_kill_under_tls_as_a_user() {
    if let Some(workload) = program("workload.js") {
        survives_a_kill_under_tls_as_a_user(workload);
    }
}

#[test]
fn ioredis_sees_all_keys_through_a_node_kill() {
    if let Some(program) = program("keyspace.js") {
        sees_all_keys_through_a_kill(program);
    }
}

#[test]
fn programs_of_node_do_what_the_page_says() {
    if let Some(programs) = program("programs/main.js") {
        do_what_the_page_says("Node", programs);
    }
}
