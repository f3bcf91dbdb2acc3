use super::*;
use crate::{KeyHash, Put, ScanPosition, TableConfig, ValueRef};
use brickyard_types::{Medium, Op, Position, SegmentId, UnixMillis, ValueType};
use std::collections::BTreeSet;

fn table() -> TableData {
    TableData::new(TableConfig {
        seed: 9,
        medium: Medium::Disk,
        evicts: true,
    })
}

fn name(number: u64) -> String {
    format!("key {number:05}")
}

fn hash(table: &TableData, number: u64) -> KeyHash {
    table.hash(name(number).as_bytes())
}

fn put(table: &mut TableData, partition: LocalPartition, number: u64) {
    let record = Put {
        value: ValueRef::Hot(&[7; 40]),
        expires_at: number
            .is_multiple_of(4)
            .then_some(UnixMillis(1_000 + number)),
        op: Op(number),
        position: Position {
            segment: SegmentId(3),
            offset: number as u32 * 8,
        },
        value_type: ValueType::String,
    };
    let hash = hash(table, number);
    table
        .put(partition, hash, name(number).as_bytes(), &record)
        .unwrap();
}

/// The last digit decides: so the parts' keys lie anywhere among the hashes of the whole.
fn part_of(key: &[u8]) -> usize {
    usize::from(key[key.len() - 1] - b'0') % 3
}

fn keys(table: &TableData, partition: LocalPartition) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let mut next = Some(ScanPosition::START);
    while let Some(from) = next {
        next = table.scan(partition, from, 100, |key, _| {
            keys.insert(key.to_vec());
        });
    }
    keys
}

#[test]
fn every_record_is_in_its_part_with_all_that_it_had() {
    let mut table = table();
    let (whole, other) = (table.add_partition(), table.add_partition());
    for number in 1..=3_000 {
        put(&mut table, whole, number);
    }
    put(&mut table, other, 5_001);
    let before: Vec<(usize, Vec<_>)> = vec![(table.len_total(), table.segments().collect())];
    let parts = [(); 3].map(|()| table.add_partition());
    table.split_partition(whole, &parts, part_of);
    table.check();
    assert_eq!(
        before,
        [(table.len_total(), table.segments().collect())],
        "nothing of the log is lost or gained"
    );
    for number in 1..=3_000 {
        let (hash, name) = (hash(&table, number), name(number));
        for (at, part) in parts.iter().enumerate() {
            let found = table.peek(*part, hash, name.as_bytes());
            assert_eq!(found.is_some(), at == part_of(name.as_bytes()), "{name}");
            if let Some(found) = found {
                assert_eq!(
                    (found.op, found.position.offset),
                    (Op(number), number as u32 * 8)
                );
                assert_eq!(found.expires_at.is_some(), number % 4 == 0);
            }
        }
    }
    let sum: usize = parts.iter().map(|part| keys(&table, *part).len()).sum();
    assert_eq!(sum, 3_000);
    assert_eq!(keys(&table, other).len(), 1);
    // The number is free for another partition, which has nothing.
    assert_eq!(table.add_partition(), whole);
    assert_eq!(keys(&table, whole).len(), 0);
}

#[test]
fn what_was_deleted_or_cleared_stays_so_in_every_part() {
    let mut table = table();
    let whole = table.add_partition();
    for number in 1..=40 {
        put(&mut table, whole, number);
    }
    table.clear(whole, Op(40));
    for number in 41..=60 {
        put(&mut table, whole, number);
    }
    let gone = hash(&table, 50);
    table
        .put_tombstone(whole, gone, name(50).as_bytes(), Op(70), Position::NONE)
        .unwrap();
    let parts = [(); 3].map(|()| table.add_partition());
    table.split_partition(whole, &parts, part_of);
    table.check();
    // Older records of the same keys may come yet, by a catch-up.
    for number in [7, 50] {
        let part = parts[part_of(name(number).as_bytes())];
        put(&mut table, part, number);
        let hash = hash(&table, number);
        assert_eq!(table.peek(part, hash, name(number).as_bytes()), None);
    }
}

#[test]
fn keys_expire_in_their_parts() {
    let mut table = table();
    let whole = table.add_partition();
    for number in 1..=100 {
        put(&mut table, whole, number);
    }
    let parts = [(); 3].map(|()| table.add_partition());
    table.split_partition(whole, &parts, part_of);
    let mut due = BTreeSet::new();
    for _ in 0..100 {
        table.due(UnixMillis(2_000), 100, |expired| {
            assert!(parts.contains(&expired.partition));
            due.insert(expired.key.to_vec());
        });
    }
    assert_eq!(due.len(), 25);
}

#[test]
fn halves_become_a_whole_that_has_all_that_they_had() {
    let mut table = table();
    let (whole, other) = (table.add_partition(), table.add_partition());
    for number in 1..=900 {
        put(&mut table, whole, number);
    }
    put(&mut table, other, 5_001);
    let before: Vec<(usize, Vec<_>)> = vec![(table.len_total(), table.segments().collect())];
    let parts = [(); 3].map(|()| table.add_partition());
    table.split_partition(whole, &parts, part_of);
    let again = table.add_partition();
    table.merge_partitions(&parts, again);
    table.check();
    assert_eq!(
        before,
        [(table.len_total(), table.segments().collect())],
        "nothing of the log is lost or gained"
    );
    for number in 1..=900 {
        let (hash, name) = (hash(&table, number), name(number));
        let found = table.peek(again, hash, name.as_bytes()).unwrap();
        assert_eq!(
            (found.op, found.position.offset),
            (Op(number), number as u32 * 8)
        );
    }
    assert_eq!(keys(&table, other).len(), 1);
    let mut due = BTreeSet::new();
    for _ in 0..300 {
        table.due(UnixMillis(2_000), 100, |expired| {
            assert_eq!(expired.partition, again);
            due.insert(expired.key.to_vec());
        });
    }
    assert_eq!(due.len(), 225);
}

#[test]
fn what_one_half_was_cleared_of_says_nothing_of_the_other_half() {
    let mut table = table();
    let halves = [(); 2].map(|()| table.add_partition());
    table.clear(halves[0], Op(40));
    table.clear(halves[1], Op(20));
    let whole = table.add_partition();
    table.merge_partitions(&halves, whole);
    for number in [20, 30] {
        put(&mut table, whole, number);
    }
    assert_eq!(
        keys(&table, whole).len(),
        1,
        "30 may be of the half that was cleared at 20"
    );
}

#[test]
fn sweep_removes_what_is_not_kept_and_counts_it_out() {
    let mut table = table();
    let partition = table.add_partition();
    for number in 1..=300 {
        put(&mut table, partition, number);
    }
    table.sweep_partition(partition, |key, op| part_of(key) != 1 || op > Op(150));
    table.check();
    let left = keys(&table, partition);
    assert_eq!(left.len(), 255);
    assert!(!left.contains(name(1).as_bytes()) && left.contains(name(151).as_bytes()));
}
