use super::*;
use crate::{Put, TableConfig, TableData, ValueRef, key_hash};
use brickyard_types::{Op, Position, ValueType};

/// What a table of many records takes of memory, for each.
fn measured(medium: Medium, key_bytes: usize, value_bytes: usize) -> f64 {
    const RECORDS: u64 = 200_000;
    let mut table = TableData::new(TableConfig {
        seed: 7,
        medium,
        evicts: false,
    });
    let partition = table.add_partition();
    let value = vec![b'v'; value_bytes];
    for number in 0..RECORDS {
        let key = format!("{number:0key_bytes$}").into_bytes();
        let put = Put {
            value: ValueRef::Hot(&value),
            expires_at: None,
            op: Op(number + 1),
            position: Position::NONE,
            value_type: ValueType::String,
        };
        let hash = key_hash(&key, 7);
        table.put(partition, hash, &key, &put).unwrap();
    }
    table.memory_live() as f64 / RECORDS as f64
}

#[test]
fn footprint_is_what_a_table_takes() {
    for (medium, key, value) in [
        (Medium::Ram, 16, 150),
        (Medium::Ram, 8, 8),
        (Medium::Ram, 40, 1_000),
        (Medium::Disk, 16, 150),
        (Medium::Disk, 32, 0),
    ] {
        let footprint = Footprint::of(medium, key, value);
        let (planned, taken) = (footprint.bytes() as f64, measured(medium, key, value));
        let error = (planned - taken).abs() / taken;
        assert!(
            error < 0.08,
            "{medium} {key} {value}: {planned} and not {taken}"
        );
    }
}

#[test]
fn a_record_is_a_multiple_of_eight_and_of_a_disk_table_has_a_position() {
    assert_eq!(Footprint::of(Medium::Ram, 16, 150).record, 184);
    assert_eq!(Footprint::of(Medium::Ram, 8, 8).record, 32);
    assert_eq!(Footprint::of(Medium::Disk, 8, 8).record, 40);
}
