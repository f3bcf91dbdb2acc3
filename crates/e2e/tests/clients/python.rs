//! redis-py: its cluster client, and its plain one through the gateway.

use crate::kill::{survives_a_kill, survives_a_kill_under_tls};
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

fn workload(kind: &str) -> Option<Command> {
    let mut workload = stock::python()?;
    let sources = Language::Python.sources();
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

#[test]
fn redis_py_cluster_survives_a_node_kill_under_tls() {
    if let Some(workload) = workload("cluster") {
        survives_a_kill_under_tls(workload);
    }
}

#[test]
fn plain_redis_py_survives_a_node_kill_under_tls() {
    if let Some(workload) = workload("plain") {
        survives_a_kill_under_tls(workload);
    }
}
