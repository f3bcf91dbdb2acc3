use super::attributes;

#[test]
fn backup_has_all_that_a_table_is_made_with_but_partitions_and_nodes() {
    let all: Vec<String> = attributes().collect();
    let expected = [
        "medium",
        "durability",
        "replicas",
        "min_in_sync",
        "maxmemory",
        "evict",
        "placement",
        "partition_bytes",
        "history",
        "leases",
        "hash",
        "from",
        "to",
    ];
    assert_eq!(all, expected);
}
