//! A workload of another language's client, and a node that is killed in the middle of it.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for};
use brickyard_e2e::process::Process;
use brickyard_e2e::value::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Rounds that a workload makes in each part of the test.
const ROUNDS: u64 = 150;
const KEYSPACE_ROUNDS: u64 = 3;

/// The node that is killed: the first that clients are told of.
pub(crate) const VICTIM: usize = 0;

/// Three nodes whose table `default`, which is what a client has that asks for nothing else, has two replicas, and primaries on
/// each of them.
pub(crate) fn replicated_cluster() -> Cluster {
    replicated(Cluster::start(&[0, 1, 2], 1, &[]))
}

/// Gives `default` a second replica, and every node its primaries.
pub(crate) fn replicated(cluster: Cluster) -> Cluster {
    let altered = try_wait_for(PATIENCE, || {
        let mut client = cluster.try_client(0).ok()?;
        let reply = client.try_call(&["TABLE", "ALTER", "default", "REPLICAS", "2"]);
        (reply.ok()?.text() == "OK").then_some(())
    });
    assert!(altered.is_some(), "no second replica:\n{}", cluster.logs());
    cluster.wait_until_whole("default", 2);
    // The table was made when there was one node; primaries are evened out bit by bit.
    let are_even = try_wait_for(PATIENCE, || {
        let mut client = cluster.try_client(0).ok()?;
        let slots = client.try_call(&["CLUSTER", "SLOTS"]).ok()?;
        (primaries(&slots).len() == cluster.len()).then_some(())
    });
    assert!(
        are_even.is_some(),
        "a node has no primary:\n{}",
        cluster.logs()
    );
    cluster
}

/// The ports of the bricks that are primary for some slot.
pub(crate) fn primaries(slots: &Value) -> BTreeSet<i64> {
    let Value::Array(ranges) = slots else {
        return BTreeSet::new();
    };
    let primary = |range: &Value| match range {
        // First and last slot, then replicas, of which each is host, port and more.
        Value::Array(range) => match range.get(2) {
            Some(Value::Array(replica)) => replica.get(1)?.as_integer(),
            _ => None,
        },
        _ => None,
    };
    ranges.iter().filter_map(primary).collect()
}

/// Runs a workload over a cluster of which a node is killed, and comes back, in the middle of it.
pub(crate) fn survives_a_kill(workload: Command) {
    goes_through_a_kill(replicated_cluster(), workload, "default", ROUNDS);
}

/// The same for a program that writes, counts, lists, reads at replicas and deletes all keys in each round.
pub(crate) fn sees_all_keys_through_a_kill(workload: Command) {
    goes_through_a_kill(replicated_cluster(), workload, "default", KEYSPACE_ROUNDS);
}

/// The same under mutual TLS, between the nodes and with the client.
pub(crate) fn survives_a_kill_under_tls(mut workload: Command) {
    let mut cluster = replicated(Cluster::start_secure(&[0, 1, 2], 1, &[]));
    let certificates = cluster.certificates().expect("it is secure");
    let [authority, certificate, key] = certificates.client_files();
    workload
        .env("WORKLOAD_CA", authority)
        .env("WORKLOAD_CERT", certificate)
        .env("WORKLOAD_KEY", key);
    goes_through_a_kill(cluster, workload, "default", ROUNDS);
}

/// The same as a user of the cluster, who may do what the workload does and no more.
pub(crate) fn survives_a_kill_under_tls_as_a_user(mut workload: Command) {
    let mut cluster = replicated(Cluster::start_secure(&[0, 1, 2], 1, &[]));
    let user = [
        "ACL",
        "SETUSER",
        "shop",
        "on",
        ">secret",
        "~s:*",
        "~c:*",
        "~h:*",
        "&news",
        "+@read",
        "+@write",
        "+@connection",
        "+@scripting",
        "+@pubsub",
        "+cluster",
        "+info",
        "resettables",
        "table:default=read,write",
    ];
    cluster.client(0).must(&user);
    let certificates = cluster.certificates().expect("it is secure");
    let [authority, certificate, key] = certificates.client_files();
    workload
        .env("WORKLOAD_CA", authority)
        .env("WORKLOAD_CERT", certificate)
        .env("WORKLOAD_KEY", key)
        .env("WORKLOAD_USER", "shop")
        .env("WORKLOAD_PASSWORD", "secret");
    goes_through_a_kill(cluster, workload, "shop", ROUNDS);
}

fn goes_through_a_kill(mut cluster: Cluster, mut workload: Command, user: &str, rounds_each: u64) {
    let folder = tempfile::tempdir().unwrap();
    let stop = folder.path().join("stop");
    workload.arg(cluster.seeds().join(",")).arg(&stop);
    let mut process = Process::start(&mut workload, &folder.path().join("output"));
    make_rounds(&mut process, &cluster, "before the kill", rounds_each);
    let clients = cluster.client(0).call(&["CLIENT", "LIST"]).text();
    let is_there = clients.contains(&format!(" user={user} "));
    assert!(is_there, "{user} is not among\n{clients}");
    cluster.kill(VICTIM);
    make_rounds(&mut process, &cluster, "while a node is away", rounds_each);
    cluster.launch(VICTIM);
    cluster.wait_until_formed();
    cluster.wait_until_whole("default", 2);
    make_rounds(&mut process, &cluster, "when it is back", rounds_each);
    std::fs::write(&stop, b"").unwrap();
    let status = process.wait();
    let output = process.output();
    assert!(
        status.success() && output.contains("done: "),
        "{status}: {output}"
    );
    println!("{}", output.lines().last().unwrap_or_default());
}

fn make_rounds(process: &mut Process, cluster: &Cluster, when: &str, wanted: u64) {
    let rounds = |output: &str| {
        let last = output
            .lines()
            .rev()
            .find_map(|it| it.strip_prefix("round "));
        last.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0)
    };
    let begin = rounds(&process.output());
    let made = try_wait_for(PATIENCE, || {
        if let Some(status) = process.exit_status() {
            panic!("{when}: it ended, {status}:\n{}", process.output());
        }
        (rounds(&process.output()) >= begin + wanted).then_some(())
    });
    assert!(
        made.is_some(),
        "{when}: no {wanted} rounds:\n{}\n{}",
        process.output(),
        cluster.logs()
    );
}
