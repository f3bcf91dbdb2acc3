//! Splitting and merging all partitions of table `t`, from outside.

use crate::cluster::Cluster;
use crate::deadline::wait_for;
use crate::value::Value;
use std::collections::BTreeSet;

/// How many partitions the table has.
fn count(cluster: &Cluster) -> Option<i64> {
    let described = cluster.client(0).call(&["TABLE", "DESCRIBE", "t"]);
    let pairs = described.pairs()?;
    let count = pairs.iter().find(|(name, _)| name.text() == "partitions");
    count.and_then(|(_, count)| count.as_integer())
}

/// The numbers of the partitions of table `t`, as their primaries say; all of them, also while others come to lead.
///
/// # Panics
/// If they cannot be told for a minute.
#[must_use]
pub fn partitions(cluster: &Cluster) -> BTreeSet<i64> {
    wait_for("a primary of every partition", || {
        let mut all = BTreeSet::new();
        for at in cluster.running() {
            let listed = cluster.client(at).call(&["TABLE", "EXPORT", "t"]);
            let numbers = listed.items().unwrap_or_default().iter();
            all.extend(numbers.filter_map(Value::as_integer));
        }
        (count(cluster) == i64::try_from(all.len()).ok()).then_some(all)
    })
}

/// Splits every partition once, one after the other: writes to each wait until its keys are sorted.
///
/// # Panics
/// If that takes more than a minute.
pub fn split_all(cluster: &Cluster) {
    let before = partitions(cluster);
    let want = 2 * before.len();
    wait_for("every partition to be split", || {
        let now = partitions(cluster);
        if let Some(left) = now.intersection(&before).next() {
            // Refused while it is split, and while primaries are evened out.
            cluster
                .client(0)
                .call(&["TABLE", "SPLIT", "t", &left.to_string()]);
        }
        (now.len() == want && now.is_disjoint(&before)).then_some(())
    });
}

/// Merges every partition with its sibling, one pair after the other.
///
/// # Panics
/// If that takes more than a minute.
pub fn merge_all(cluster: &Cluster) {
    let before = partitions(cluster);
    let want = before.len() / 2;
    wait_for("every pair of siblings to be merged", || {
        let now = partitions(cluster);
        if let Some(half) = now.intersection(&before).next() {
            // Refused while it is merged, while primaries are evened out, or copies come.
            cluster
                .client(0)
                .call(&["TABLE", "MERGE", "t", &half.to_string()]);
        }
        (now.len() == want && now.is_disjoint(&before)).then_some(())
    });
}
