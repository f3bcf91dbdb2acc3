//! Nodes find one another, whatever the order.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::port::{HTTP_OFFSET, free_block};
use brickyard_e2e::process::Process;
use brickyard_e2e::server::{brickyard, program};
use brickyard_e2e::value::Value;

#[test]
fn three_nodes_become_one_cluster_in_any_order() {
    for order in [[0, 1, 2], [2, 0, 1]] {
        let cluster = Cluster::start(&order, 1, &[]);
        cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
        cluster.wait_until_whole("t", 2);
        for at in 0..3 {
            let mut client = cluster.table(at, "t").unwrap();
            for key in 0..50 {
                let key = format!("key{at}-{key}");
                assert_eq!(client.call(&["SET", &key, &key]).text(), "OK");
            }
        }
        for at in 0..3 {
            let mut client = cluster.table(at, "t").unwrap();
            for by in 0..3 {
                for key in 0..50 {
                    let key = format!("key{by}-{key}");
                    assert_eq!(client.call(&["GET", &key]).text(), key);
                }
            }
            assert_eq!(client.call(&["DBSIZE"]), Value::Integer(150));
        }
    }
}

#[test]
fn node_joins_later_and_a_restarted_one_comes_back() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    let fourth = cluster.add();
    cluster.wait_until_formed();
    assert_eq!(
        cluster
            .table(fourth, "t")
            .unwrap()
            .call(&["SET", "k", "v"])
            .text(),
        "OK"
    );
    cluster.stop(1);
    cluster.launch(1);
    cluster.wait_until_formed();
    cluster.wait_until_whole("t", 2);
    assert_eq!(
        cluster.table(1, "t").unwrap().call(&["GET", "k"]).text(),
        "v"
    );
}

#[test]
fn nodes_that_start_again_under_other_addresses_are_found_there() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let keys: Vec<String> = (0..64).map(|key| format!("key{key}")).collect();
    let mut client = cluster.table(0, "t").unwrap();
    for key in &keys {
        client.must(&["SET", key, key]);
    }
    // First one of them while the others run, then all at once.
    for moved in [vec![1], vec![0, 1, 2]] {
        let former: Vec<String> = moved
            .iter()
            .map(|at| cluster.seeds()[*at].clone())
            .collect();
        for &at in &moved {
            cluster.kill(at);
            cluster.readdress(at);
        }
        for &at in &moved {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster.wait_until_whole("t", 2);
        for at in 0..3 {
            let mut client = cluster.table(at, "t").unwrap();
            for key in &keys {
                assert_eq!(client.call(&["GET", key]).text(), *key, "at node {at}");
                // A write that meets a hand-over of the lead, as they are evened out, may be of unknown outcome.
                wait_for("a write", || {
                    let reply = client.call(&["SET", key, key]);
                    (reply.text() == "OK").then_some(())
                });
            }
            // The maps name its present address, and nothing of its former one.
            let map = client.call(&["CLUSTER", "NODES"]).text();
            for &at in &moved {
                let brick = format!(":{}@", cluster.brick_port(at));
                assert!(map.contains(&brick), "{brick}: {map}");
            }
            for former in &former {
                let port: u16 = former.rsplit(':').next().unwrap().parse().unwrap();
                assert!(!map.contains(&format!(":{}@", port + 1)), "{former}: {map}");
            }
        }
    }
}

/// Rule `only the same machine proves death`: whoever runs on a copy is the node's next life, and the former one is
/// refused for ever.
#[test]
fn older_incarnation_ends_and_says_why() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    cluster.stop(2);
    let copy = cluster.copy(2);
    cluster.launch(2);
    // It is answered there once the cluster has taken note of this life.
    let mut client = wait_for("the original to serve", || cluster.table(2, "t").ok());
    client.must(&["SET", "k", "v"]);
    cluster.launch(copy);
    wait_for("the original to be told", || {
        let told = cluster.logs();
        told.contains("another process has registered with this data directory")
            .then_some(())
    });
    cluster.kill(2);
    let value = wait_for("the copy to serve", || {
        let mut client = cluster.table(copy, "t").ok()?;
        client.try_call(&["GET", "k"]).ok()
    });
    assert_eq!(value.text(), "v");
}

/// Its directory is of a cluster of its own, and its `join` names another one: it serves what it has, and says so.
#[test]
fn node_that_is_told_to_join_another_cluster_than_its_own_says_so() {
    let others = Cluster::start(&[0], 1, &[]);
    let mut own = Cluster::start(&[0], 1, &[]);
    own.kill(0);
    let port = free_block(8);
    let mut command = program();
    command
        .args(["server", "--listen", &format!("127.0.0.1:{port}")])
        .args(["--peer-port", &(port + 8).to_string(), "--data"])
        .arg(own.data(0))
        .args(["--join", &format!("127.0.0.1:{}", others.port(0))]);
    let folder = tempfile::tempdir().unwrap();
    let astray = Process::start(&mut command, &folder.path().join("output"));
    let http = format!("127.0.0.1:{}", port + HTTP_OFFSET);
    wait_for("word of the other cluster", || {
        let finished = brickyard(&["status", "--http", &http]);
        let text = finished.text();
        let is_told = text.contains("its join names nodes of another cluster");
        assert!(!is_told || finished.status.code() == Some(4), "{text}");
        is_told.then_some(())
    });
    assert!(
        astray.output().contains("belongs to another cluster"),
        "{}",
        astray.output()
    );
}

/// Others hear of it a moment after its maker was told.
#[test]
fn table_made_at_one_node_is_there_at_all_others_at_once() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("first", &["PARTITIONS", "16"]);
    for number in 0..20 {
        let name = format!("t{number}");
        let mut maker = cluster.client(number % 3);
        maker.must(&["TABLE", "CREATE", &name, "PARTITIONS", "16"]);
        for at in 0..3 {
            let used = cluster.table(at, &name);
            used.unwrap_or_else(|error| panic!("table {name} at node {at}: {error}"));
        }
    }
    let refused = cluster.table(1, "nosuch").unwrap_err().to_string();
    assert!(refused.contains("there is no table"), "{refused}");
}
