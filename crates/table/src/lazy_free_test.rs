use crate::table::TableConfig;
use crate::{LocalPartition, Put, TableData, ValueRef};
use brickyard_types::{Medium, Op, Position, UnixMillis, ValueType};

const MIB: usize = 1 << 20;

fn table() -> (TableData, LocalPartition) {
    let mut table = TableData::new(TableConfig {
        seed: 4,
        medium: Medium::Ram,
        evicts: false,
    });
    let partition = table.add_partition();
    (table, partition)
}

fn put(table: &mut TableData, partition: LocalPartition, op: u64, value: &[u8]) {
    let key = op.to_le_bytes();
    let put = Put {
        value: ValueRef::Hot(value),
        expires_at: Some(UnixMillis(op * 1000)),
        op: Op(op),
        position: Position::NONE,
        value_type: ValueType::String,
    };
    table
        .put(partition, table.hash(&key), &key, &put)
        .expect("there is room");
}

#[test]
fn dropped_table_gives_its_memory_back_in_bounded_steps() {
    let (mut table, partition) = table();
    for op in 1..=4096 {
        put(&mut table, partition, op, &[1; 16 << 10]);
    }
    let mut lazy_free = table.into_lazy_free();
    let before = lazy_free.memory();
    assert!(before >= 64 * MIB);
    let mut steps = 1;
    let mut last = before;
    while lazy_free.free(4 * MIB) {
        let now = lazy_free.memory();
        assert!(now < last && last - now <= 8 * MIB, "{last} then {now}");
        last = now;
        steps += 1;
    }
    assert_eq!(lazy_free.memory(), 0);
    assert!(
        steps >= before / (8 * MIB),
        "{steps} steps for {before} bytes"
    );
}

#[test]
fn table_without_keys_gives_its_memory_back_while_it_is_used_again() {
    let (mut table, partition) = table();
    for op in 1..=300_000 {
        put(&mut table, partition, op, b"");
    }
    table.clear(partition, Op(300_000));
    while !table.has_lazy_free() {
        assert!(table.compact(MIB), "nothing was left over");
    }
    put(&mut table, partition, 300_001, b"v");
    let before = table.memory_used();
    assert!(table.compact(MIB / 8), "all of it went in one step");
    assert!(table.memory_used() < before);
    while table.compact(MIB) {}
    assert!(!table.has_lazy_free());
    assert_eq!(table.len(partition), 1);
    table.check();
}
