//! A table goes out of memory while clients of another one write, a node is killed meanwhile, and it comes back as it was.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::moves::ours;
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};

const KEYS: usize = 5_000;

/// A field of TABLE DESCRIBE.
fn described(cluster: &Cluster, through: usize, field: &str) -> String {
    let text = ours(cluster, through, &["table", "describe", "archive"]);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find_map(|line| line.strip_prefix(field));
    let value = line.and_then(|rest| rest.split_whitespace().last());
    value
        .unwrap_or_else(|| panic!("{text}"))
        .trim_matches('"')
        .to_owned()
}

#[track_caller]
fn wait_for_state(cluster: &Cluster, state: &str) {
    wait_for("the table's state", || {
        (described(cluster, 0, "state") == state).then_some(())
    });
}

#[test]
fn table_goes_and_comes_back_under_load_on_another_one_and_through_a_kill() {
    try_failure(
        Setup::new("a table offline"),
        Keys::Any,
        |cluster, load, _| {
            cluster.create_table("archive", &["REPLICAS", "2", "PARTITIONS", "16"]);
            cluster.wait_until_whole("archive", 2);
            let mut client = cluster.table(0, "archive").unwrap();
            let value = "x".repeat(2_000);
            for key in 0..KEYS {
                client.must(&["SET", &format!("key{key}"), &format!("{key} {value}")]);
            }
            for key in (0..KEYS).step_by(5) {
                client.call(&["DEL", &format!("key{key}")]);
            }
            let memory: u64 = described(cluster, 0, "memory").parse().unwrap();
            assert!(memory > 3_000_000, "{memory}");
            ours(cluster, 0, &["table", "offline", "archive"]);
            assert_eq!(described(cluster, 0, "state"), "offline");
            let refused = client.call(&["GET", "key1"]);
            assert!(
                refused.text().contains("OFFLINE table"),
                "{}",
                refused.text()
            );
            wait_for("the memory is given back", || {
                let memory: u64 = described(cluster, 0, "memory").parse().ok()?;
                (memory < 300_000).then_some(())
            });
            wait_for_writes(load);
            cluster.kill(2);
            cluster.launch(2);
            cluster.wait_until_formed();
            assert_eq!(described(cluster, 2, "state"), "offline");
            wait_for_writes(load);
            ours(cluster, 0, &["table", "online", "archive"]);
            wait_for_state(cluster, "online");
            cluster.wait_until_whole("archive", 2);
            let mut client = cluster.table(1, "archive").unwrap();
            for key in 0..KEYS {
                let got = client.call(&["GET", &format!("key{key}")]);
                match key % 5 {
                    0 => assert!(got.as_bytes().is_none(), "key{key} is back"),
                    _ => assert_eq!(got.text(), format!("{key} {value}"), "key{key}"),
                }
            }
            let count = client.call(&["DBSIZE"]).as_integer();
            assert_eq!(count, Some(KEYS as i64 * 4 / 5));
            let text = ours(cluster, 0, &["table", "digest", "archive"]);
            assert!(text.contains("16 equal, 0 behind, 0 differ"), "{text}");
            wait_for_writes(load);
        },
    )
    .map(|report| report.checked());
}

/// A cluster of one node, and tables with one copy each: there is nobody else who could choose.
#[test]
fn table_of_a_lone_node_comes_back_also_after_a_restart() {
    let mut cluster = Cluster::start(&[0], 2, &[]);
    cluster.create_table("archive", &["PARTITIONS", "16"]);
    let mut client = cluster.table(0, "archive").unwrap();
    for key in 0..500 {
        client.must(&["SET", &format!("key{key}"), "value"]);
    }
    for restarts in [false, true] {
        ours(&cluster, 0, &["table", "offline", "archive"]);
        if restarts {
            cluster.kill(0);
            cluster.launch(0);
            cluster.wait_until_formed();
        }
        ours(&cluster, 0, &["table", "online", "archive"]);
        wait_for_state(&cluster, "online");
        let mut client = cluster.table(0, "archive").unwrap();
        assert_eq!(client.call(&["DBSIZE"]).as_integer(), Some(500));
        assert_eq!(client.call(&["GET", "key77"]).text(), "value");
    }
}
