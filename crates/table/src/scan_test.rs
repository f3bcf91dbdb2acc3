use super::*;
use crate::{Put, TableConfig, TableData, ValueRef};
use brickyard_types::{Medium, Op, Position, ValueType};
use std::collections::{BTreeMap, BTreeSet};

fn table() -> (TableData, LocalPartition) {
    let mut table = TableData::new(TableConfig {
        seed: 9,
        medium: Medium::Ram,
        evicts: false,
    });
    let partition = table.add_partition();
    (table, partition)
}

fn put(table: &mut TableData, partition: LocalPartition, key: &str, op: u64) {
    let record = Put {
        value: ValueRef::Hot(key.as_bytes()),
        expires_at: None,
        op: Op(op),
        position: Position::NONE,
        value_type: ValueType::String,
    };
    table
        .put(
            partition,
            table.hash(key.as_bytes()),
            key.as_bytes(),
            &record,
        )
        .unwrap();
}

fn remove(table: &mut TableData, partition: LocalPartition, key: &str, op: u64) {
    table.remove(
        partition,
        table.hash(key.as_bytes()),
        key.as_bytes(),
        Op(op),
    );
}

/// Goal: a key that is there from the first call to the last is returned, once, whatever happens in
/// between. Method: between calls the partition grows to several times its size and shrinks again,
/// so that buckets split and merge on both sides of the position.
#[test]
fn scan_returns_what_stays_while_the_rest_changes() {
    for calls_apart in [3, 40, 400] {
        let (mut table, partition) = table();
        let mut op = 0;
        let mut next_op = || {
            op += 1;
            op
        };
        for number in 0..2000 {
            put(&mut table, partition, &format!("stays:{number}"), next_op());
        }
        let mut stays = BTreeMap::new();
        let mut position = Some(ScanPosition::START);
        let mut step = 0_u64;
        while let Some(from) = position {
            position = table.scan(partition, from, 5, |key, _| {
                if key.starts_with(b"stays") {
                    *stays.entry(key.to_vec()).or_insert(0) += 1;
                }
            });
            for change in 0..calls_apart {
                let key = format!("comes and goes:{}", (step * calls_apart + change) % 20_000);
                if (step / 20).is_multiple_of(2) {
                    put(&mut table, partition, &key, next_op());
                } else {
                    remove(&mut table, partition, &key, next_op());
                }
            }
            put(
                &mut table,
                partition,
                &format!("stays:{}", step % 2000),
                next_op(),
            );
            step += 1;
        }
        assert_eq!(stays.len(), 2000);
        assert!(stays.values().all(|&times| times == 1));
        table.check();
    }
}

#[test]
fn positions_fit_into_their_bits() {
    let (mut table, partition) = table();
    for number in 0..20_000 {
        put(&mut table, partition, &number.to_string(), number + 1);
    }
    let mut position = ScanPosition::START;
    let mut calls = 0;
    while let Some(next) = table.scan(partition, position, 1, |_, _| {}) {
        assert!(next > position);
        assert_eq!(next.0 << ScanPosition::BITS, 0);
        position = next;
        calls += 1;
    }
    assert!(
        calls > 1000,
        "a call should visit about a bucket, and {calls} calls visited all"
    );
}

#[test]
fn scan_of_an_empty_partition_ends_at_once() {
    let (table, partition) = table();
    let end = table.scan(partition, ScanPosition::START, 10, |_, _| {
        panic!("there is no key")
    });
    assert_eq!(end, None);
}

#[test]
fn random_keys_come_from_all_partitions_in_proportion() {
    let (mut table, first) = table();
    let second = table.add_partition();
    assert_eq!(table.random(5), None);
    for number in 0..900 {
        put(&mut table, first, &number.to_string(), number + 1);
    }
    for number in 0..100 {
        put(&mut table, second, &number.to_string(), number + 1);
    }
    let mut keys = BTreeSet::new();
    let mut from_second = 0;
    for random in 0..20_000 {
        let (partition, key, _) = table.random(random).unwrap();
        from_second += u32::from(partition == second);
        keys.insert((partition, key.to_vec()));
    }
    assert!(
        (1700..2300).contains(&from_second),
        "{from_second} of 20000 rather than 2000"
    );
    assert!(keys.len() > 990, "{} of 1000 keys", keys.len());
}

#[test]
fn random_finds_the_only_key_among_tombstones() {
    let (mut table, partition) = table();
    for number in 0..1000 {
        let key = format!("gone:{number}");
        let hash = table.hash(key.as_bytes());
        table
            .put_tombstone(partition, hash, key.as_bytes(), Op(1), Position::NONE)
            .unwrap();
    }
    assert_eq!(table.random(1), None);
    put(&mut table, partition, "here", 2);
    for random in 0..50 {
        assert_eq!(table.random(random).unwrap().1, b"here");
    }
}
