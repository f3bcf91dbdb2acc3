//! Clients that know one node's port and nothing of the cluster, while another node is gone.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::server::brickyard;
use brickyard_e2e::value::Value;

/// Far longer than a request may wait: the view does not change within a test.
const LONG_LEASE: [&str; 4] = ["--lease", "20s", "--eviction-timeout", "20s"];

const KEYS: usize = 64;

fn filled(bricks: u16) -> Cluster {
    let cluster = Cluster::start(&[0, 1, 2], bricks, &LONG_LEASE);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").unwrap();
    for key in 0..KEYS {
        client.must(&["SET", &format!("key{key}"), &format!("value{key}")]);
    }
    // A backup that has not heard how a write ended may not answer reads of its key once the primary is gone, until
    // the view changes; the client has its reply before the backups hear.
    let address = format!("127.0.0.1:{}", cluster.port(0));
    let finished = brickyard(&["table", "digest", "t", "--address", &address]);
    assert!(finished.status.success(), "{}", finished.text());
    cluster
}

fn read_all(cluster: &Cluster, at: usize) {
    let mut client = cluster.table(at, "t").unwrap();
    for key in 0..KEYS {
        let value = client.call(&["GET", &format!("key{key}")]);
        assert_eq!(value.text(), format!("value{key}"), "key{key} at node {at}");
    }
    let names: Vec<String> = (0..KEYS).map(|key| format!("key{key}")).collect();
    let words: Vec<&str> = std::iter::once("MGET")
        .chain(names.iter().map(String::as_str))
        .collect();
    let Value::Array(values) = client.call(&words) else {
        panic!("MGET at node {at}");
    };
    assert!(values.iter().all(|it| it.text().starts_with("value")));
}

#[test]
fn reads_at_any_node_go_on_when_a_primary_is_killed() {
    // With two bricks a node's backup may be another brick than the one that has the connection.
    for bricks in [1, 2] {
        let mut cluster = filled(bricks);
        cluster.kill(1);
        for at in [0, 2] {
            read_all(&cluster, at);
        }
    }
}

#[test]
fn reads_at_any_node_go_on_when_a_primary_is_silent() {
    for bricks in [1, 2] {
        let cluster = filled(bricks);
        cluster.signal(1, "STOP");
        for at in [0, 2] {
            read_all(&cluster, at);
        }
        cluster.signal(1, "CONT");
        read_all(&cluster, 1);
    }
}
