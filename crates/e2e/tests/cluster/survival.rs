//! Failures while clients write and read through every node.

use crate::history::History;
use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::{Cluster, LEASE};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const KEYS: usize = 40;

/// Runs `harm` while clients write and read, and judges what they saw.
fn under_load(name: &str, replicas: &str, harm: impl FnOnce(&Mutex<Cluster>)) {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", replicas, "PARTITIONS", "16"]);
    let wanted = replicas.parse().unwrap();
    cluster.wait_until_whole("t", wanted);
    let ports: Vec<u16> = (0..cluster.len()).map(|at| cluster.port(at)).collect();
    let cluster = Mutex::new(cluster);
    let history = History::new(KEYS);
    let next = AtomicUsize::new(0);
    let connect = || {
        let port = ports[next.fetch_add(1, Ordering::SeqCst) % ports.len()];
        let mut client = Client::try_connect(port).ok()?;
        let reply = client.try_call(&["TABLE", "USE", "t"]).ok()?;
        (reply.text() == "OK").then_some(client)
    };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (history, connect) = (&history, &connect);
            let keys = writer * KEYS / 4..(writer + 1) * KEYS / 4;
            scope.spawn(move || history.write(keys, connect));
        }
        for _ in 0..2 {
            let (history, connect) = (&history, &connect);
            scope.spawn(move || history.read(connect));
        }
        wait_for_writes(&history, 200);
        harm(&cluster);
        wait_for_writes(&history, 200);
        history.end();
    });
    let cluster = cluster.into_inner().unwrap();
    cluster.wait_until_whole("t", wanted);
    for at in cluster.running() {
        history.audit(&mut cluster.table(at, "t").unwrap());
    }
    let (writes, reads) = history.stalls();
    println!(
        "{name}: {} writes, {} reads, {} unknown, longest stall of writes {writes:?}, of reads {reads:?}",
        history.writes.load(Ordering::SeqCst),
        history.reads.load(Ordering::SeqCst),
        history.unknown.load(Ordering::SeqCst),
    );
    let violations = history.violations.lock().unwrap();
    assert!(violations.is_empty(), "{name}: {violations:#?}");
}

fn wait_for_writes(history: &History, count: u64) {
    let begin = history.writes.load(Ordering::SeqCst);
    brickyard_e2e::deadline::wait_for("writes", || {
        (history.writes.load(Ordering::SeqCst) >= begin + count).then_some(())
    });
}

#[test]
fn killed_nodes_cost_nothing_acknowledged() {
    under_load("kill -9 of each node in turn", "3", |cluster| {
        for at in 0..3 {
            let mut cluster = cluster.lock().unwrap();
            cluster.kill(at);
            let running = cluster.running()[0];
            // As long as the others need to go on without it.
            brickyard_e2e::deadline::wait_for("a write without the killed node", || {
                let reply = cluster.table(running, "t").ok()?;
                let mut client = reply;
                let all = (0..KEYS).all(|key| {
                    let name = format!("other{key}");
                    client
                        .try_call(&["SET", &name, "x"])
                        .is_ok_and(|reply| reply.text() == "OK")
                });
                all.then_some(())
            });
            cluster.launch(at);
            cluster.wait_until_formed();
            cluster.wait_until_whole("t", 3);
        }
    });
}

#[test]
fn all_nodes_killed_at_once_keep_everything() {
    under_load("kill -9 of all nodes at once", "3", |cluster| {
        let mut cluster = cluster.lock().unwrap();
        for at in 0..3 {
            cluster.kill(at);
        }
        for at in [1, 0, 2] {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
    });
}

#[test]
fn paused_node_answers_nothing_stale_when_it_wakes() {
    under_load("SIGSTOP for five leases", "2", |cluster| {
        let at = 1;
        cluster.lock().unwrap().signal(at, "STOP");
        // The pause itself is what is tested.
        std::thread::sleep(Duration::from_millis(5 * LEASE.as_millis() as u64));
        cluster.lock().unwrap().signal(at, "CONT");
    });
}

#[test]
fn rolling_restart_loses_nothing() {
    under_load("rolling restart", "2", |cluster| {
        for at in 0..3 {
            let mut cluster = cluster.lock().unwrap();
            cluster.stop(at);
            cluster.launch(at);
            cluster.wait_until_formed();
            cluster.wait_until_whole("t", 2);
        }
    });
}
