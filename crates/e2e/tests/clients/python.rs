//! redis-py: its cluster client, and its plain one through the gateway; one of a user with limits; real programs of Python.

use crate::kill::{sees_all_keys_through_a_kill, survives_a_kill, survives_a_kill_under_tls};
use crate::programs::do_what_the_page_says;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::process::run;
use brickyard_e2e::server::Setup;
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
fn redis_py_cluster_sees_all_keys_through_a_node_kill() {
    if let Some(mut program) = stock::python() {
        program.arg(Language::Python.sources().join("keyspace.py"));
        sees_all_keys_through_a_kill(program);
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

#[test]
fn redis_py_reads_from_its_cache_what_was_written_last() {
    let Some(mut program) = stock::python() else {
        return;
    };
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    program
        .arg(Language::Python.sources().join("caching.py"))
        .args(cluster.seeds());
    let finished = run(&mut program, b"", 2 * PATIENCE).unwrap();
    assert!(finished.status.success(), "{}", finished.text());
}

/// It sends every key to the brick that its slot belongs to, which is mostly the wrong one. It is not redirected: that would tell it of a
/// whole slot what is so of one key.
#[test]
fn redis_py_cluster_is_redirected_nowhere_in_tables_that_are_not_placed_by_slots() {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    for (name, function) in [
        ("keyed", "keyed"),
        ("key64", "key64"),
        ("runs", "ordered"),
        ("users", "ordered FROM user:000000 TO user:999999"),
    ] {
        let Some(mut program) = stock::python() else {
            return;
        };
        let made = format!("TABLE CREATE {name} REPLICAS 2 HASH {function}");
        cluster.client(0).must(&made.split(' ').collect::<Vec<_>>());
        cluster.wait_until_whole(name, 2);
        let ports = [0, 1, 2].map(|at| cluster.brick_port(at).to_string());
        program
            .arg(Language::Python.sources().join("hash_functions.py"))
            .arg(format!("default+{name}"))
            .args(ports);
        let finished = run(&mut program, b"", 2 * PATIENCE).unwrap();
        assert!(finished.status.success(), "{}", finished.text());
        assert_eq!(finished.stdout, "redirected 0 times\n");
    }
}

#[test]
fn redis_py_is_told_of_a_limit_and_what_it_was_refused_was_not_executed() {
    let Some(mut workload) = stock::python() else {
        return;
    };
    let server = Setup::brickyard(2).start();
    let mut root = server.connect();
    let rules = "ACL SETUSER ann on >secret ~* +@all limit:ops=100";
    root.must(&rules.split(' ').collect::<Vec<_>>());
    workload
        .arg(Language::Python.sources().join("limits.py"))
        .arg(format!("127.0.0.1:{}", server.port()))
        .args(["ann", "secret", "counter"]);
    let finished = run(&mut workload, b"", 2 * PATIENCE).unwrap();
    assert!(finished.status.success(), "{}", finished.text());
    let acknowledged = finished.stdout.split(' ').next().unwrap_or_default();
    assert_eq!(root.line("GET counter").text(), acknowledged);
}

#[test]
fn programs_of_python_do_what_the_page_says() {
    if let Some(mut programs) = stock::python() {
        programs.arg(Language::Python.sources().join("programs"));
        do_what_the_page_says("Python", programs);
    }
}
