//! Jedis.

use crate::kill::survives_a_kill;
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

#[test]
fn jedis_survives_a_node_kill() {
    let client = Language::Java;
    let Some(fetched) = client.fetched() else {
        return;
    };
    // `java` runs a source file if a compiler is installed with it.
    let programs = ["javac", "java"].map(|name| stock::runtime(name, client));
    let [Some(_), Some(java)] = programs else {
        return;
    };
    let mut workload = Command::new(java);
    workload
        .arg("-classpath")
        .arg(fetched.join("jars/*"))
        .arg(client.sources().join("Workload.java"));
    survives_a_kill(workload);
}
