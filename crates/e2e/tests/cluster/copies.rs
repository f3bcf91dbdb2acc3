//! Tables for which nobody chose a number of copies have as many as there are nodes, up to `default_replicas`.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::port::HTTP_OFFSET;
use brickyard_e2e::server::brickyard;
use std::fs;

/// What is the default where tests do not say otherwise.
const USUAL: [&str; 2] = ["--default-replicas", "3"];

fn described(cluster: &Cluster, table: &str, field: &str) -> String {
    let reply = cluster.client(0).call(&["TABLE", "DESCRIBE", table]);
    let pairs = reply.pairs().expect("a map");
    let found = pairs.into_iter().find(|(name, _)| name.text() == field);
    let (_, value) = found.expect("the field");
    match value.as_integer() {
        Some(number) => number.to_string(),
        None => value.text(),
    }
}

fn status(cluster: &Cluster, more: &[&str]) -> String {
    let http = format!("127.0.0.1:{}", cluster.port(0) + HTTP_OFFSET);
    let arguments = [&["status", "--http", &http], more].concat();
    wait_for("a status without a fault", || {
        let finished = brickyard(&arguments);
        finished.status.success().then(|| finished.text())
    })
}

#[test]
fn what_three_nodes_acknowledged_outlives_any_one_disk() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &USUAL);
    cluster.create_table("orders", &["PARTITIONS", "16"]);
    for table in ["default", "orders"] {
        cluster.wait_until_whole(table, 3);
        assert_eq!(described(&cluster, table, "replicas"), "3");
        assert_eq!(described(&cluster, table, "copies"), "auto");
        let mut client = cluster.table(0, table).unwrap();
        for number in 0..300 {
            let reply = client.call(&["SET", &format!("k{number}"), "v"]);
            assert_eq!(reply.text(), "OK");
        }
    }
    assert!(status(&cluster, &[]).contains("everything is as it should be"));

    // One copy is what somebody asks for, and is warned of.
    cluster.create_table("cache", &["PARTITIONS", "16", "REPLICAS", "1"]);
    assert_eq!(described(&cluster, "cache", "copies"), "fixed");
    let told = status(&cluster, &[]);
    assert!(told.contains("not all of it is safe"), "{told}");
    assert!(
        told.contains("one copy, which is lost with one node's disk: cache;"),
        "{told}"
    );
    let info = cluster.client(0).call(&["INFO", "cluster"]).text();
    assert!(info.contains("tables_with_one_copy:1"), "{info}");
    wait_for("a warning in the log", || {
        cluster
            .logs()
            .contains("these tables have one copy")
            .then_some(())
    });
    let altered = cluster
        .client(0)
        .call(&["TABLE", "ALTER", "cache", "REPLICAS", "auto"]);
    assert_eq!(altered.text(), "OK");
    cluster.wait_until_whole("cache", 3);

    let lost = cluster.leader();
    cluster.kill(lost);
    fs::remove_dir_all(cluster.data(lost)).unwrap();
    let left = cluster.running()[0];
    for table in ["default", "orders"] {
        let mut client = cluster.table(left, table).unwrap();
        for number in 0..300 {
            let key = format!("k{number}");
            wait_for("every key", || {
                let reply = client.try_call(&["GET", &key]).ok()?;
                (reply.text() == "v").then_some(())
            });
        }
    }
}

#[test]
fn tables_get_copies_as_nodes_join() {
    let mut cluster = Cluster::start(&[0], 1, &USUAL);
    cluster.create_table("auto", &["PARTITIONS", "16"]);
    cluster.create_table("chosen", &["PARTITIONS", "16", "REPLICAS", "1"]);
    assert_eq!(described(&cluster, "auto", "replicas"), "1");
    assert!(status(&cluster, &[]).contains("everything is as it should be"));
    for nodes in 2..=4_usize {
        cluster.add();
        cluster.wait_until_formed();
        for table in ["default", "auto"] {
            cluster.wait_until_whole(table, nodes.min(3));
        }
        assert_eq!(described(&cluster, "chosen", "replicas"), "1");
    }
}

#[test]
fn backup_of_one_node_has_three_copies_in_a_cluster_of_three() {
    let one = Cluster::start(&[0], 1, &USUAL);
    one.create_table("orders", &["PARTITIONS", "16"]);
    let set = one.table(0, "orders").unwrap().call(&["SET", "k", "v"]);
    assert_eq!(set.text(), "OK");
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let to = |cluster: &Cluster| format!("127.0.0.1:{}", cluster.port(0));
    let run = |arguments: &[&str]| {
        let finished = brickyard(&[&["backup"], arguments].concat());
        assert!(finished.status.success(), "{}", finished.text());
    };
    run(&["create", place, "--from", &to(&one), "--table", "orders"]);
    let three = Cluster::start(&[0, 1, 2], 1, &USUAL);
    run(&["restore", place, "--to", &to(&three)]);
    three.wait_until_whole("orders", 3);
    let got = three.table(0, "orders").unwrap().call(&["GET", "k"]);
    assert_eq!(got.text(), "v");
}

#[test]
fn configuration_with_one_copy_is_warned_of() {
    let check = |more: &[&str]| brickyard(&[&["config", "check"], more].concat());
    let usual = check(&["--join", "10.0.0.1:6379", "--expect", "3"]);
    assert_eq!(usual.stderr, "");
    let one = check(&["--join", "10.0.0.1:6379", "--default-replicas", "1"]);
    assert!(one.status.success(), "{}", one.text());
    assert!(
        one.stderr.contains("default_replicas is 1"),
        "{}",
        one.text()
    );
    let alone = check(&["--default-replicas", "1"]);
    assert_eq!(alone.stderr, "");
    assert!(!check(&["--default-replicas", "0"]).status.success());
}
