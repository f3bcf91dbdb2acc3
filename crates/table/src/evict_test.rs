use super::*;
use crate::{Put, TableConfig, TableData, ValueRef};
use brickyard_types::{Medium, Position, SegmentId, ValueType};
use std::collections::BTreeSet;

const KEYS: u64 = 2000;

fn table(medium: Medium) -> (TableData, LocalPartition) {
    let mut table = TableData::new(TableConfig {
        seed: 4,
        medium,
        evicts: true,
    });
    let partition = table.add_partition();
    for number in 0..KEYS {
        let key = number.to_be_bytes();
        let put = Put {
            value: ValueRef::Hot(&[7; 500]),
            expires_at: None,
            op: Op(number + 1),
            position: Position {
                segment: SegmentId(1),
                offset: number as u32,
            },
            value_type: ValueType::String,
        };
        table.put(partition, table.hash(&key), &key, &put).unwrap();
    }
    // A first round takes the marks of having been written.
    assert_eq!(table.evict_step(KEYS as usize, |_| {}), 0);
    (table, partition)
}

fn read(table: &mut TableData, partition: LocalPartition, number: u64) -> bool {
    let key = number.to_be_bytes();
    let found = table.get(partition, table.hash(&key), &key);
    matches!(found.unwrap().value, ValueRef::Hot(_))
}

#[test]
fn ram_reports_what_was_not_used_and_spares_what_was() {
    let (mut table, partition) = table(Medium::Ram);
    for number in 0..KEYS / 2 {
        read(&mut table, partition, number);
    }
    let mut victims = BTreeSet::new();
    let mut bytes = 0;
    for _ in 0..20 {
        bytes += table.evict_step(KEYS as usize / 20, |victim| {
            assert!(
                victims.insert(victim.key.to_vec()),
                "reported twice in a round"
            );
        });
    }
    let expected: BTreeSet<_> = (KEYS / 2..KEYS)
        .map(|number| number.to_be_bytes().to_vec())
        .collect();
    assert_eq!(victims, expected);
    assert_eq!(bytes, KEYS as usize / 2 * 528);
    assert_eq!(
        table.len_total(),
        KEYS as usize,
        "removing is up to the caller"
    );
}

#[test]
fn disk_drops_values_and_keeps_keys() {
    let (mut table, partition) = table(Medium::Disk);
    for number in 0..100 {
        read(&mut table, partition, number);
    }
    let records = table.records_bytes();
    let mut freed = 0;
    for _ in 0..4 {
        freed += table.evict_step(KEYS as usize, |_| panic!("keys of a disk table stay"));
        for number in 0..100 {
            assert!(read(&mut table, partition, number), "{number} was in use");
        }
    }
    assert!(freed > 1900 * 490);
    table.check();
    assert_eq!(table.records_bytes(), records - freed);
    for number in 100..KEYS {
        let key = number.to_be_bytes();
        let hash = table.hash(&key);
        let found = table.peek(partition, hash, &key).unwrap();
        assert_eq!(found.value, ValueRef::Cold { len: 500 });
        assert_eq!(
            found.position,
            Position {
                segment: SegmentId(1),
                offset: number as u32
            }
        );
        assert_eq!(
            table.warm(partition, hash, &key, Op(number + 1), &[8; 500]),
            Ok(true)
        );
        assert_eq!(
            table.peek(partition, hash, &key).unwrap().value,
            ValueRef::Hot(&[8; 500])
        );
    }
    table.check();
}

#[test]
fn an_intent_keeps_its_value_in_memory() {
    let (mut table, partition) = table(Medium::Disk);
    let key = 7_u64.to_be_bytes();
    let hash = table.hash(&key);
    let put = Put {
        value: ValueRef::Hot(&[7; 500]),
        expires_at: None,
        op: Op(KEYS + 1),
        position: Position {
            segment: SegmentId(2),
            offset: 0,
        },
        value_type: ValueType::Intent,
    };
    table.put(partition, hash, &key, &put).unwrap();
    for _ in 0..4 {
        table.evict_step(2 * KEYS as usize, |_| panic!("keys of a disk table stay"));
    }
    let cold = (0..KEYS).filter(|number| {
        let key = number.to_be_bytes();
        let found = table.peek(partition, table.hash(&key), &key).unwrap();
        matches!(found.value, ValueRef::Cold { .. })
    });
    assert_eq!(cold.count() as u64, KEYS - 1);
    assert!(
        read(&mut table, partition, 7),
        "whoever ends it looks at what it says"
    );
}

#[test]
fn value_that_is_in_no_log_stays() {
    let mut table = TableData::new(TableConfig {
        seed: 4,
        medium: Medium::Disk,
        evicts: true,
    });
    let partition = table.add_partition();
    let hash = table.hash(b"key");
    let put = Put {
        value: ValueRef::Hot(&[7; 500]),
        expires_at: None,
        op: Op(1),
        position: Position::NONE,
        value_type: ValueType::String,
    };
    table.put(partition, hash, b"key", &put).unwrap();
    for _ in 0..5 {
        assert_eq!(table.evict_step(10, |_| {}), 0);
    }
    assert_eq!(table.make_cold(partition, hash, b"key", Op(1)), Ok(false));
}

#[test]
fn large_value_is_dropped_too() {
    let mut table = TableData::new(TableConfig {
        seed: 4,
        medium: Medium::Disk,
        evicts: true,
    });
    let partition = table.add_partition();
    let hash = table.hash(b"key");
    let position = Position {
        segment: SegmentId(1),
        offset: 5,
    };
    let value = vec![3; 5 << 20];
    let put = Put {
        value: ValueRef::Hot(&value),
        expires_at: None,
        op: Op(1),
        position,
        value_type: ValueType::String,
    };
    table.put(partition, hash, b"key", &put).unwrap();
    assert_eq!(table.make_cold(partition, hash, b"key", Op(1)), Ok(true));
    table.check();
    assert!(table.memory_used() < 1 << 20);
    assert_eq!(table.warm(partition, hash, b"key", Op(1), &value), Ok(true));
    assert_eq!(
        table.peek(partition, hash, b"key").unwrap().value,
        ValueRef::Hot(&value)
    );
}
