//! Jedis.

use crate::kill::{
    sees_all_keys_through_a_kill, survives_a_kill, survives_a_kill_under_tls_as_a_user,
};
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

fn workload() -> Option<Command> {
    let client = Language::Java;
    let fetched = client.fetched()?;
    // `java` runs a source file if a compiler is installed with it.
    stock::runtime("javac", client)?;
    let java = stock::runtime("java", client)?;
    let mut workload = Command::new(java);
    workload
        .arg("-classpath")
        .arg(fetched.join("jars/*"))
        .arg(client.sources().join("Workload.java"));
    Some(workload)
}

#[test]
fn jedis_survives_a_node_kill() {
    if let Some(workload) = workload() {
        survives_a_kill(workload);
    }
}

#[test]
fn jedis_survives_a_node_kill_under_tls_as_a_user() {
    if let Some(workload) = workload() {
        survives_a_kill_under_tls_as_a_user(workload);
    }
}

#[test]
fn jedis_sees_all_keys_through_a_node_kill() {
    if let Some(mut workload) = workload() {
        workload.arg("keyspace");
        sees_all_keys_through_a_kill(workload);
    }
}
