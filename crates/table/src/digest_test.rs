use super::*;
use crate::{Put, TableConfig, TableData};
use brickyard_types::{Medium, Op, Position, SegmentId, UnixMillis, ValueType};

const KEYS: u64 = 5000;

fn table(medium: Medium) -> (TableData, LocalPartition) {
    let mut table = TableData::new(TableConfig {
        seed: 9,
        medium,
        evicts: false,
    });
    let partition = table.add_partition();
    (table, partition)
}

fn put(table: &mut TableData, at: LocalPartition, number: u64, value: &str, expires: Option<u64>) {
    let key = format!("k{number}");
    let record = Put {
        value: ValueRef::Hot(value.as_bytes()),
        expires_at: expires.map(UnixMillis),
        op: Op(number + 1),
        position: Position {
            segment: SegmentId(1),
            offset: number as u32 * 100,
        },
        value_type: ValueType::String,
    };
    let hash = table.hash(key.as_bytes());
    table.put(at, hash, key.as_bytes(), &record).unwrap();
}

/// The whole partition in parts of so many records.
fn whole(table: &TableData, at: LocalPartition, step: usize) -> Digest {
    let mut sum = Digest::default();
    let mut position = Some(ScanPosition::START);
    while let Some(from) = position {
        let (part, next) = table.digest(at, from, step);
        sum.keys += part.keys;
        sum.sum = sum.sum.wrapping_add(part.sum);
        position = next;
    }
    sum
}

#[test]
fn order_and_parts_do_not_matter() {
    let (mut one, at) = table(Medium::Ram);
    let (mut other, there) = table(Medium::Ram);
    for number in 0..KEYS {
        put(&mut one, at, number, "v", None);
        put(&mut other, there, KEYS - 1 - number, "v", None);
    }
    let digest = whole(&one, at, usize::MAX);
    assert_eq!(digest.keys, KEYS);
    for step in [1, 100, 4096] {
        assert_eq!(whole(&other, there, step), digest, "in parts of {step}");
    }
}

#[test]
fn any_difference_is_seen() {
    let built = |value: &str, expires: Option<u64>, keys: u64| {
        let (mut table, at) = table(Medium::Ram);
        for number in 1..keys {
            put(&mut table, at, number, "v", None);
        }
        put(&mut table, at, 0, value, expires);
        whole(&table, at, 100)
    };
    let seen = [
        built("v", None, 100),
        built("w", None, 100),
        built("v", Some(1 << 50), 100),
        built("v", None, 99),
    ];
    for (number, one) in seen.iter().enumerate() {
        let others = &seen[number + 1..];
        assert!(others.iter().all(|other| other.sum != one.sum), "{seen:?}");
    }
    assert_eq!(built("v", None, 100), seen[0]);
}

#[test]
fn it_does_not_matter_which_values_are_in_memory() {
    let (mut table, at) = table(Medium::Disk);
    for number in 0..100 {
        put(&mut table, at, number, "value", None);
    }
    let hot = whole(&table, at, 100);
    for number in 0..50 {
        let key = format!("k{number}");
        let hash = table.hash(key.as_bytes());
        let is_cold = table.make_cold(at, hash, key.as_bytes(), Op(number + 1));
        assert_eq!(is_cold, Ok(true));
    }
    assert_eq!(whole(&table, at, 100), hot);
}
