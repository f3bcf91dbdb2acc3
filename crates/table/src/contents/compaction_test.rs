use crate::{LocalPartition, Put, TableConfig, TableData, ValueRef};
use brickyard_types::{Medium, Op, Position};

fn put(table: &mut TableData, number: u64, len: usize, op: u64) {
    let key = number.to_be_bytes();
    let put = Put {
        value: ValueRef::Hot(&[9; 4000][..len]),
        expires_at: None,
        op: Op(op),
        position: Position::NONE,
        is_raw: false,
    };
    let partition = LocalPartition((number % 8) as u32);
    table.put(partition, table.hash(&key), &key, &put).unwrap();
}

/// Goal: writes alone keep memory within its bound, whatever they do to the sizes of values.
#[test]
fn memory_stays_within_its_bound_as_values_change() {
    let mut table = TableData::new(TableConfig {
        seed: 5,
        medium: Medium::Ram,
        evicts: false,
    });
    for _ in 0..8 {
        table.add_partition();
    }
    let mut random = 1_u64;
    let mut most = 0.0_f64;
    for op in 1..400_000_u64 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = (random >> 33) % 40_000;
        // Times of small values, of larger ones, of values that only grow, and of few sizes.
        let len = match op / 50_000 % 4 {
            0 => (random >> 50) as usize % 200,
            1 => (random >> 50) as usize % 2000,
            2 => (op % 50_000 / 100) as usize,
            _ => [64, 1024][(random >> 60) as usize % 2],
        };
        put(&mut table, number, len, op);
        let dead = table
            .contents
            .records()
            .arena()
            .memory()
            .saturating_sub(4 << 20) as f64;
        most = most.max(dead / table.contents.records().arena().live() as f64);
    }
    assert!(most <= 1.25, "{most} times the records, and 4 MiB");
    table.check();
}

#[test]
fn idle_compaction_comes_to_an_end() {
    let mut table = TableData::new(TableConfig {
        seed: 5,
        medium: Medium::Ram,
        evicts: false,
    });
    for _ in 0..8 {
        table.add_partition();
    }
    for number in 0..20_000 {
        put(&mut table, number, 1000, number + 1);
    }
    for number in (0..20_000_u64).filter(|number| number % 3 > 0) {
        let key = number.to_be_bytes();
        let partition = LocalPartition((number % 8) as u32);
        table
            .remove(partition, table.hash(&key), &key, Op(100_000))
            .unwrap();
    }
    while table.compact(100_000) {}
    assert!(!table.contents.wants_compaction());
    table.check();
}
