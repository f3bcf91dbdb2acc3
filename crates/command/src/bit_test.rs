use super::*;
use crate::testing::MemoryKeyspace;

#[test]
fn setbit_grows_the_value_and_returns_the_old_bit() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("setbit a 7 1"), ":0\r\n");
    assert_eq!(keyspace.run_line("setbit a 16 0"), ":0\r\n");
    assert_eq!(keyspace.value(b"a"), Some(&[1, 0, 0][..]));
    assert_eq!(keyspace.run_line("setbit a 7 0"), ":1\r\n");
    assert_eq!(keyspace.run_line("getbit a 7"), ":0\r\n");
    assert_eq!(keyspace.run_line("getbit a 536870911"), ":0\r\n");
}

#[test]
fn setbit_that_changes_nothing_writes_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a a");
    let op = keyspace.probe(b"a").unwrap().unwrap().op;
    assert_eq!(keyspace.run_line("setbit a 0 0"), ":0\r\n");
    assert_eq!(keyspace.probe(b"a").unwrap().unwrap().op, op);
}

#[test]
fn offsets_past_the_longest_value_are_refused() {
    let mut keyspace = MemoryKeyspace::default();
    let error = "-ERR bit offset is not an integer or out of range\r\n";
    for line in [
        "setbit a 536870912 1",
        "setbit a -1 1",
        "getbit a x",
        "getbit a #1",
    ] {
        assert_eq!(keyspace.run_line(line), error, "{line}");
    }
    let error = "-ERR bit is not an integer or out of range\r\n";
    assert_eq!(keyspace.run_line("setbit a 0 2"), error);
}

#[test]
fn bits_are_counted_and_found_as_one_by_one() {
    let mut seed: u64 = 7;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 40) as usize
    };
    for _ in 0..2_000 {
        let fill = [0x00, 0xff, 0x5a][next() % 3];
        let mut value = vec![fill; next() % 24];
        if !value.is_empty() {
            let at = next() % value.len();
            value[at] = next() as u8;
        }
        let total = value.len() * 8;
        let (one, other) = (next() % (total + 1), next() % (total + 1));
        let bits = one.min(other)..one.max(other);
        let is_one = |at: &usize| bit_at(&value, *at as u64) == 1;
        let count = bits.clone().filter(is_one).count() as u64;
        assert_eq!(
            count_ones(&value, bits.clone()),
            count,
            "{value:?} {bits:?}"
        );
        for bit in [false, true] {
            let position = bits.clone().find(|at| is_one(at) == bit);
            assert_eq!(
                find(&value, bits.clone(), bit),
                position,
                "{value:?} {bits:?}"
            );
        }
    }
}

#[test]
fn bitpos_sees_zeros_behind_the_value_unless_an_end_is_given() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("setrange a 0 xx");
    keyspace.run_line("bitfield a set u16 0 65535");
    assert_eq!(keyspace.run_line("bitpos a 0"), ":16\r\n");
    assert_eq!(keyspace.run_line("bitpos a 0 1"), ":16\r\n");
    assert_eq!(keyspace.run_line("bitpos a 0 0 -1"), ":-1\r\n");
    assert_eq!(keyspace.run_line("bitpos missing 0 x y z"), ":0\r\n");
    assert_eq!(keyspace.run_line("bitpos missing 1"), ":-1\r\n");
    assert_eq!(keyspace.run_line("bitcount a 3 11 BIT"), ":9\r\n");
}
