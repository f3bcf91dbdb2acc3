//! redis-py: its cluster client, and its plain one through the gateway.

use crate::kill::{folders, skip_client, survives_a_kill};
use std::process::Command;

fn workload(kind: &str) -> Option<Command> {
    let (sources, _) = folders("python");
    let (_, venv) = folders("venv");
    let python = venv.join("bin/python");
    if !python.exists() {
        skip_client("redis-py");
        return None;
    }
    let mut workload = Command::new(python);
    workload.arg(sources.join("workload.py")).arg(kind);
    Some(workload)
}

#[test]
fn redis_py_cluster_survives_a_node_kill() {
    if let Some(workload) = workload("cluster") {
        survives_a_kill(workload);
    }
}

#[test]
fn plain_redis_py_survives_a_node_kill() {
    if let Some(workload) = workload("plain") {
        survives_a_kill(workload);
    }
}
