//! Replicas are compared by what they hold.

use brickyard_e2e::client::encode;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::server::brickyard;
use brickyard_e2e::value::Value;

const RECORDS: usize = 5000;
const BATCH: usize = 500;

fn fill(cluster: &Cluster, table: &str) {
    let mut client = cluster.table(0, table).unwrap();
    for base in (0..RECORDS).step_by(BATCH) {
        let mut input = Vec::new();
        for number in base..base + BATCH {
            let (key, value) = (format!("k{number}"), format!("value {number}"));
            encode(&mut input, &["SET", &key, &value, "EX", "100000"]);
            if number % 10 == 0 {
                encode(&mut input, &["DEL", &key]);
            }
        }
        client.send_raw(&input).unwrap();
        for _ in 0..BATCH + BATCH / 10 {
            let reply = client.receive().unwrap();
            assert!(!matches!(reply, Value::Error(_)), "{reply}");
        }
    }
}

#[test]
fn replicas_of_every_partition_hold_the_same() {
    let mut cluster = Cluster::start(&[2, 0, 1], 2, &[]);
    let address = format!("127.0.0.1:{}", cluster.port(1));
    for (table, options) in [
        ("t", &["REPLICAS", "2", "PARTITIONS", "16"][..]),
        (
            "cold",
            &["REPLICAS", "3", "PARTITIONS", "16", "MEDIUM", "disk"],
        ),
    ] {
        let replicas = options[1].parse().unwrap();
        cluster.create_table(table, options);
        cluster.wait_until_whole(table, replicas);
        fill(&cluster, table);
        let arguments = ["table", "digest", table, "--address", &address];
        let all = format!(
            "16 partitions, {} replicas, {} keys: 16 equal, 0 behind, 0 differ",
            16 * replicas,
            RECORDS - RECORDS / 10
        );
        let finished = brickyard(&arguments);
        assert!(finished.status.success(), "{}", finished.text());
        assert!(finished.stdout.contains(&all), "{}", finished.text());
    }

    // One that came back holds the same again; while it is away there is nothing to be sure of.
    cluster.kill(2);
    let hasty = ["table", "digest", "cold", "--patience", "0"];
    let finished = brickyard(&[&hasty[..], &["--address", &address]].concat());
    assert_eq!(finished.status.code(), Some(4), "{}", finished.text());
    fill(&cluster, "cold");
    cluster.launch(2);
    cluster.wait_until_formed();
    cluster.wait_until_whole("cold", 3);
    let finished = brickyard(&["table", "digest", "cold", "--address", &address]);
    assert!(finished.status.success(), "{}", finished.text());
}
