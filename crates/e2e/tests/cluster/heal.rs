//! What one node lacks comes from the others: what rotted on its disk, and what was written while it was away.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::port::HTTP_OFFSET;
use brickyard_e2e::server::brickyard;
use std::fs;

const KEYS: usize = 400;

fn value(number: usize) -> String {
    format!("value of {number}.")
}

/// Flips two bytes of the header of the record that holds a value, and one of the value of another one.
fn damage(cluster: &Cluster, at: usize) {
    let segment = cluster.data(at).join("brick-0").join("000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let place = |number: usize| {
        let body = format!("key:{number}{}", value(number));
        let mut windows = bytes.windows(body.len());
        windows.position(|it| it == body.as_bytes()).unwrap()
    };
    let (one, other) = (place(KEYS / 4), place(KEYS / 2));
    // The body of a replicated record begins with 8 bytes of what was known to be committed.
    for byte in [one - 56 + 21, one - 56 + 24, other + 12] {
        bytes[byte] ^= 0x10;
    }
    fs::write(&segment, bytes).unwrap();
}

#[test]
fn damage_heals_from_the_other_nodes_and_is_told_of_once() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &["--default-replicas", "3"]);
    cluster.create_table("t", &["PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    cluster.wait_until_whole("default", 3);
    let mut client = cluster.table(0, "t").unwrap();
    for number in 0..KEYS {
        let key = format!("key:{number}");
        assert_eq!(client.call(&["SET", &key, &value(number)]).text(), "OK");
    }
    drop(client);
    cluster.kill(2);
    damage(&cluster, 2);
    cluster.launch(2);
    let http = format!("127.0.0.1:{}", cluster.port(0) + HTTP_OFFSET);
    wait_for("word that the damage has healed", || {
        cluster
            .logs()
            .contains("healed: nothing is missing")
            .then_some(())
    });
    wait_for("a status without a fault", || {
        let finished = brickyard(&["status", "--http", &http]);
        finished.status.success().then_some(())
    });
    wait_for("the segment to be gone", || {
        let segment = cluster.data(2).join("brick-0").join("000001.seg");
        (!segment.exists()).then_some(())
    });
    let address = format!("127.0.0.1:{}", cluster.port(0));
    let digest = brickyard(&["table", "digest", "t", "--address", &address]);
    assert!(digest.status.success(), "{}", digest.text());
    let mut client = cluster.table(2, "t").unwrap();
    for number in 0..KEYS {
        let reply = client.call(&["GET", &format!("key:{number}")]);
        assert_eq!(reply.text(), value(number));
    }
    // Nor is it there at the next start.
    cluster.kill(2);
    cluster.launch(2);
    wait_for("a status without a fault", || {
        let finished = brickyard(&["status", "--http", &http]);
        finished.status.success().then_some(())
    });
}

/// A figure of a node, added up over what it is told for.
fn figure(cluster: &Cluster, at: usize, name: &str) -> Option<f64> {
    let page = cluster.metrics(at)?;
    let lines = page
        .lines()
        .filter(|it| it.starts_with(&format!("{name}{{")));
    let values: Option<Vec<f64>> = lines
        .map(|it| it.split(' ').next_back()?.parse().ok())
        .collect();
    values.filter(|it| !it.is_empty()).map(|it| it.iter().sum())
}

/// However long it was away: longer than a lease, so that its copies were taken out of the groups, or not.
#[test]
fn node_that_comes_back_is_copied_what_it_lacks_alone() {
    const LONG: usize = 2_000;
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &["--default-replicas", "3"]);
    cluster.create_table("t", &["PARTITIONS", "16", "REPLICAS", "3"]);
    cluster.wait_until_whole("t", 3);
    let value = "v".repeat(LONG);
    let mut client = cluster.table(0, "t").unwrap();
    for number in 0..4 * KEYS {
        let key = format!("key:{number}");
        assert_eq!(client.call(&["SET", &key, &value]).text(), "OK");
    }
    for is_long in [false, true] {
        cluster.kill(2);
        if is_long {
            wait_for("the others to go on without it", || {
                let missing = figure(&cluster, 0, "brickyard_replication_copies_missing")?;
                (missing > 0.0).then_some(())
            });
        }
        let mut client = cluster.table(0, "t").unwrap();
        for number in 0..KEYS / 20 {
            let key = format!("key:{number}");
            let written = wait_for("a write", || client.try_call(&["SET", &key, &value]).ok());
            assert_eq!(written.text(), "OK");
        }
        cluster.launch(2);
        cluster.wait_until_whole("t", 3);
        let bytes = wait_for("its figures", || {
            figure(&cluster, 2, "brickyard_store_appended_bytes_total")
        });
        let all = (4 * KEYS * LONG) as f64;
        assert!(
            bytes < all / 4.0,
            "{bytes} bytes of {all}, away for long: {is_long}"
        );
    }
}
