//! Tables that say by which rule and on which nodes they are placed, and nodes that say what they are used for.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::moves::{held, number, ours};
use brickyard_e2e::server::brickyard;
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};

const PARTITIONS: i64 = 64;

#[track_caller]
fn assert_equal_replicas(cluster: &Cluster, through: usize) {
    let text = ours(cluster, through, &["table", "digest", "t"]);
    assert!(text.contains("64 equal, 0 behind, 0 differ"), "{text}");
}

#[test]
fn table_moves_to_nodes_and_to_another_placement_while_clients_write() {
    let setup = Setup {
        attributes: &["PARTITIONS", "64"],
        ..Setup::new("another layout")
    };
    try_failure(setup, Keys::Any, |cluster, load, _| {
        cluster.add();
        cluster.wait_until_formed();
        let named = [number(cluster, 1), number(cluster, 3)].join(",");
        ours(cluster, 0, &["table", "alter", "t", "--nodes", &named]);
        ours(cluster, 0, &["rebalance"]);
        let on: Vec<usize> = held(cluster, 0, PARTITIONS).into_keys().collect();
        assert_eq!(on, [1, 3]);
        wait_for_writes(load);
        // The node that the catalog cannot do without says so.
        let address = format!("127.0.0.1:{}", cluster.port(0));
        let words = ["node", "drain", &number(cluster, 3), "--address", &address];
        let refused = brickyard(&words);
        assert!(
            refused.stderr.contains("of its NODES"),
            "{}",
            refused.text()
        );

        let words = ["--placement", "ring:3", "--nodes", "all"];
        ours(cluster, 0, &[&["table", "alter", "t"][..], &words].concat());
        let plan = ours(cluster, 0, &["rebalance", "--dry-run"]);
        assert!(plan.contains("ring:3"), "{plan}");
        ours(cluster, 0, &["rebalance"]);
        wait_for_writes(load);
        let shares = held(cluster, 0, PARTITIONS);
        let copies = shares.values().map(|(copies, _)| *copies);
        assert!(
            copies.clone().max() > copies.min().map(|it| it + 4),
            "as uneven as chance: {shares:?}"
        );
        let described = ours(cluster, 2, &["table", "describe", "t"]);
        assert!(described.contains("ring:3"), "{described}");
        assert_equal_replicas(cluster, 0);

        ours(cluster, 0, &["table", "alter", "t", "--placement", "even"]);
        ours(cluster, 0, &["rebalance"]);
        let shares = held(cluster, 0, PARTITIONS);
        assert!(shares.values().all(|it| *it == (32, 16)), "{shares:?}");
        assert_equal_replicas(cluster, 0);
    })
    .map(|report| report.checked());
}

/// A copy goes from one brick of a node to another one by way of another node.
#[test]
fn ring_is_reached_between_nodes_of_several_bricks_and_left_again() {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "64"]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").unwrap();
    for key in 0..300 {
        client.must(&["SET", &format!("key{key}"), "value"]);
    }
    for placement in ["ring:2", "even"] {
        ours(
            &cluster,
            0,
            &["table", "alter", "t", "--placement", placement],
        );
        ours(&cluster, 0, &["rebalance"]);
        assert_equal_replicas(&cluster, 1);
    }
    assert_eq!(client.call(&["DBSIZE"]).as_integer(), Some(300));
}

#[test]
fn gateway_holds_nothing_until_it_is_to_store() {
    let mut cluster = Cluster::start(&[0, 1], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "64"]);
    cluster.wait_until_whole("t", 2);
    let at = cluster.add_with(&["--roles", "gateway"]);
    cluster.wait_until_formed();
    let new = number(&cluster, at);
    let row = |cluster: &Cluster| {
        let listed = ours(cluster, 0, &["node", "list"]);
        let mut rows = listed.lines().map(str::trim);
        let row = rows.find(|row| row.split_whitespace().next() == Some(&new));
        row.unwrap_or_else(|| panic!("{listed}")).to_owned()
    };
    let shown = row(&cluster);
    assert!(
        shown.contains(" gateway ") && shown.ends_with("empty"),
        "{shown}"
    );
    // Any key, by way of a node that has none.
    let mut client = cluster.table(at, "t").unwrap();
    for key in 0..50 {
        client.must(&["SET", &format!("key{key}"), "value"]);
    }
    assert_eq!(client.call(&["GET", "key7"]).text(), "value");
    assert_eq!(held(&cluster, 0, PARTITIONS).get(&at), None);
    let status = ours_status(&cluster);
    assert!(status.contains("gateway"), "{status}");

    ours(&cluster, 0, &["node", "roles", &new, "storage,gateway"]);
    let (copies, _) = held(&cluster, 0, PARTITIONS)[&at];
    assert!((42..=43).contains(&copies), "{copies}");
    ours(&cluster, 0, &["node", "roles", &new, "gateway"]);
    wait_for("the gateway to be empty", || {
        row(&cluster).ends_with("empty").then_some(())
    });
    assert_equal_replicas(&cluster, 0);
    assert_eq!(client.call(&["GET", "key7"]).text(), "value");
}

/// What `brickyard status` says of the first node's cluster.
fn ours_status(cluster: &Cluster) -> String {
    let said = cluster.status(0).expect("the node answers");
    assert!(said.contains("\"roles\""), "{said}");
    said
}
