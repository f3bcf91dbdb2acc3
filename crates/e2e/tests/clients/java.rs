//! Jedis.

use crate::kill::{folders, skip_client, survives_a_kill};
use brickyard_e2e::binary::installed;
use std::process::Command;

#[test]
fn jedis_survives_a_node_kill() {
    let (sources, fetched) = folders("java");
    let jars = fetched.join("jars");
    // `java` runs a source file if a compiler is installed with it.
    let java = installed("java").filter(|_| jars.exists() && installed("javac").is_some());
    let Some(java) = java else {
        skip_client("Jedis");
        return;
    };
    let mut workload = Command::new(java);
    workload
        .arg("-classpath")
        .arg(jars.join("*"))
        .arg(sources.join("Workload.java"));
    survives_a_kill(workload);
}
