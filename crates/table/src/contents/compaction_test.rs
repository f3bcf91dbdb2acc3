use crate::{LocalPartition, Put, TableConfig, TableData, ValueRef};
use brickyard_types::{Medium, Op, Position, ValueType};

fn put(table: &mut TableData, number: u64, len: usize, op: u64) {
    let key = number.to_be_bytes();
    let put = Put {
        value: ValueRef::Hot(&[9; 4000][..len]),
        expires_at: None,
        op: Op(op),
        position: Position::NONE,
        value_type: ValueType::String,
    };
    let partition = LocalPartition((number % 8) as u32);
    table.put(partition, table.hash(&key), &key, &put).unwrap();
}

fn remove(table: &mut TableData, number: u64, op: u64) {
    let key = number.to_be_bytes();
    let partition = LocalPartition((number % 8) as u32);
    table.remove(partition, table.hash(&key), &key, Op(op));
}

/// A table with eight partitions.
fn table() -> TableData {
    let mut table = TableData::new(TableConfig {
        seed: 5,
        medium: Medium::Ram,
        evicts: false,
    });
    for _ in 0..8 {
        table.add_partition();
    }
    table
}

/// Goal: writes alone keep memory within its bound, whatever they do to the sizes of values.
#[test]
fn memory_stays_within_its_bound_as_values_change() {
    let mut table = table();
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

/// Goal: a table that is kept at its bound never takes more than that, small or large, whatever is done to values.
#[test]
fn a_table_at_its_bound_takes_no_more_than_that() {
    for bound in [1 << 20, 2_600_000, 8 << 20, 40 << 20, 90 << 20] {
        let mut table = table();
        table.set_memory_max(Some(bound));
        let mut random = 1_u64;
        let mut numbers = std::collections::VecDeque::new();
        let mut lens = |op: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let len = match op / 20_000 % 4 {
                0 => (random >> 50) as usize % 200,
                1 => (random >> 50) as usize % 4000,
                2 => (op % 20_000 / 10) as usize,
                _ => [64, 1024][(random >> 60) as usize % 2],
            };
            (len, (random >> 33) as usize)
        };
        let mut most = 0;
        for op in 1..160_000_u64 {
            let (len, other) = lens(op);
            // A new key, or one that is there already; the oldest keys make room.
            let number = match op % 3 {
                0 if !numbers.is_empty() => numbers[other % numbers.len()],
                _ => {
                    numbers.push_back(op);
                    op
                }
            };
            while table.memory_live() + len + 64 > table.memory_live_max() {
                let oldest = numbers.pop_front().unwrap();
                remove(&mut table, oldest, 1_000_000 + op);
            }
            if numbers.front().is_some_and(|&oldest| oldest <= number) {
                put(&mut table, number, len, 1_000_000 + op);
            }
            most = most.max(table.memory_used());
        }
        assert!(most <= bound, "{most} bytes of {bound}");
        assert!(
            most > bound - bound / 4,
            "{most} bytes of {bound}: it was never full"
        );
        table.check();
    }
}

#[test]
fn a_bound_that_is_lowered_is_met_as_keys_go() {
    let mut table = table();
    for number in 0..20_000 {
        put(&mut table, number, 1000, number + 1);
    }
    let bound = 8 << 20;
    table.set_memory_max(Some(bound));
    for number in 0..15_000 {
        remove(&mut table, number, 100_000);
    }
    while table.compact(100_000) {}
    assert!(
        table.memory_used() <= bound,
        "{} bytes",
        table.memory_used()
    );
    table.check();
}

#[test]
fn idle_compaction_comes_to_an_end() {
    let mut table = table();
    for number in 0..20_000 {
        put(&mut table, number, 1000, number + 1);
    }
    for number in (0..20_000_u64).filter(|number| number % 3 > 0) {
        remove(&mut table, number, 100_000);
    }
    while table.compact(100_000) {}
    assert!(!table.contents.wants_compaction());
    table.check();
}
