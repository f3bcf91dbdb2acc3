//! Where a cluster has its partitions, and what the program says of that.

use crate::cluster::Cluster;
use crate::server::brickyard;
use crate::value::Value;
use std::collections::BTreeMap;

/// What the program says, asked through a node.
///
/// # Panics
/// If it fails; what it said is shown.
#[track_caller]
pub fn ours(cluster: &Cluster, through: usize, words: &[&str]) -> String {
    let address = format!("127.0.0.1:{}", cluster.port(through));
    let finished = brickyard(&[words, &["--address", &address]].concat());
    assert!(
        finished.status.success(),
        "{}: {}\n{}",
        words.join(" "),
        finished.text(),
        cluster.logs()
    );
    finished.stdout
}

/// The number that the cluster knows a node by.
///
/// # Panics
/// If it does not know it.
#[must_use]
pub fn number(cluster: &Cluster, at: usize) -> String {
    let through = cluster.running()[0];
    let listed = cluster.client(through).call(&["NODE", "LIST"]);
    let address = format!("127.0.0.1:{}", cluster.port(at));
    let field = |row: &Value, name: &str| -> Option<String> {
        let pairs = row.pairs()?;
        let found = pairs.iter().find(|(it, _)| it.text() == name);
        found.map(|(_, value)| match value {
            Value::Integer(number) => number.to_string(),
            other => other.text(),
        })
    };
    let rows = listed.items().unwrap_or_default().iter();
    let mut known = rows.filter(|row| field(row, "address").as_ref() == Some(&address));
    let row = known
        .next()
        .unwrap_or_else(|| panic!("node {at} is not in {listed}"));
    field(row, "node").expect("a node has a number")
}

/// Copies and primaries of table `t`, which has so many partitions, on each node, by the node's place in the cluster.
///
/// # Panics
/// If the node does not say.
#[must_use]
pub fn held(cluster: &Cluster, through: usize, partitions: i64) -> BTreeMap<usize, (i64, i64)> {
    let mut client = cluster.table(through, "t").expect("the table");
    let Value::Array(ranges) = client.call(&["CLUSTER", "SLOTS"]) else {
        panic!("CLUSTER SLOTS makes no sense");
    };
    let slots_each = 16_384 / partitions;
    let mut held: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for range in &ranges {
        let Some([Value::Integer(first), Value::Integer(last), replicas @ ..]) = range.items()
        else {
            panic!("a range of slots is {range}");
        };
        let count = (last - first + 1) / slots_each;
        for (place, replica) in replicas.iter().enumerate() {
            let Some(Value::Integer(port)) = replica.items().and_then(|it| it.get(1)) else {
                panic!("a replica is {replica}");
            };
            let at = (0..cluster.len()).find(|at| {
                let begin = i64::from(cluster.port(*at));
                (begin..begin + 2).contains(port)
            });
            let (copies, primaries) = held.entry(at.expect("a node of this cluster")).or_default();
            *copies += count;
            *primaries += if place == 0 { count } else { 0 };
        }
    }
    held
}
