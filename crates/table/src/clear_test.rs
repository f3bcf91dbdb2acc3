use super::*;
use crate::{Put, TableConfig, ValueRef, WriteOutcome};
use brickyard_types::ValueType;
use brickyard_types::{Medium, Position, SegmentId, record::encoded_len};
use std::collections::BTreeMap;

fn table() -> (TableData, LocalPartition, LocalPartition) {
    let mut table = TableData::new(TableConfig {
        seed: 4,
        medium: Medium::Ram,
        evicts: false,
    });
    let (first, second) = (table.add_partition(), table.add_partition());
    (table, first, second)
}

fn put(table: &mut TableData, partition: LocalPartition, key: &str, op: u64) -> WriteOutcome {
    let record = Put {
        value: ValueRef::Hot(&[1; 100]),
        expires_at: Some(brickyard_types::UnixMillis(1 << 40)),
        op: Op(op),
        position: Position {
            segment: SegmentId(1 + (op % 3) as u32),
            offset: 0,
        },
        value_type: ValueType::String,
    };
    table
        .put(
            partition,
            table.hash(key.as_bytes()),
            key.as_bytes(),
            &record,
        )
        .unwrap()
}

fn lost(table: &mut TableData) -> BTreeMap<SegmentId, usize> {
    let mut lost = BTreeMap::new();
    while let Some(Replaced { segment, log_len }) = table.poll_replaced() {
        *lost.entry(segment).or_default() += log_len;
    }
    lost
}

#[test]
fn cleared_keys_are_gone_at_once_and_counted_out_later() {
    let (mut table, first, second) = table();
    for op in 1..=3000 {
        put(&mut table, first, &format!("{op:05}"), op);
        put(&mut table, second, &format!("{op:05}"), op);
    }
    table.clear(first, Op(3001));
    assert_eq!((table.len(first), table.len_total()), (0, 3000));
    assert_eq!(
        (table.expires_count(first), table.expires_count_total()),
        (0, 3000)
    );
    table.check();
    // New keys live beside the removed ones.
    for op in 3002..3100 {
        assert_eq!(
            put(&mut table, first, &format!("{:05}", op - 3000), op),
            WriteOutcome::Inserted
        );
    }
    assert_eq!(table.len(first), 98);
    table.check();
    while table.compact(1 << 16) {}
    table.check();
    let each = 1000 * encoded_len(5, 100);
    assert_eq!(
        lost(&mut table),
        (1..=3).map(|id| (SegmentId(id), each)).collect()
    );
    assert_eq!(table.len(second), 3000);
}

#[test]
fn nothing_older_than_a_clear_applies_after_it() {
    let (mut table, first, _) = table();
    table.clear(first, Op(10));
    assert_eq!(put(&mut table, first, "key", 9), WriteOutcome::Stale);
    assert_eq!(put(&mut table, first, "key", 11), WriteOutcome::Inserted);
}

#[test]
fn clear_that_comes_late_spares_newer_records() {
    let (mut table, first, _) = table();
    for op in 1..=1000 {
        put(&mut table, first, &format!("{op:05}"), op);
    }
    table.clear(first, Op(600));
    assert_eq!(table.len(first), 400);
    table.check();
    assert_eq!(
        lost(&mut table).values().sum::<usize>(),
        600 * encoded_len(5, 100)
    );
    assert_eq!(put(&mut table, first, "older", 600), WriteOutcome::Stale);
}

#[test]
fn table_that_was_cleared_gives_its_memory_back() {
    let (mut table, first, _) = table();
    for op in 1..=50_000 {
        put(&mut table, first, &op.to_string(), op);
    }
    table.clear(first, Op(100_000));
    while table.compact(1 << 20) {}
    assert!(table.memory_used() < 1 << 10, "{}", table.memory_used());
    assert_eq!(lost(&mut table).len(), 3);
    put(&mut table, first, "key", 100_001);
    table.check();
}

#[test]
fn dropped_partition_gives_its_number_and_memory_back() {
    let (mut table, first, second) = table();
    for op in 1..=50_000 {
        put(&mut table, first, &op.to_string(), op);
    }
    let memory = table.memory_used();
    table.drop_partition(first);
    assert_eq!(table.add_partition(), first);
    assert_eq!(put(&mut table, first, "1", 1), WriteOutcome::Inserted);
    while table.compact(1 << 20) {}
    table.check();
    assert_eq!(table.len_total(), 1);
    assert!(
        table.memory_used() < memory / 2,
        "{} of {memory}",
        table.memory_used()
    );
    assert_eq!(table.len(second), 0);
}
