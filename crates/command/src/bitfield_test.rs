use super::*;
use crate::testing::MemoryKeyspace;

#[test]
fn fields_read_back_as_written() {
    for bits in 1..=64_u8 {
        for is_signed in [false, true] {
            if bits == 64 && !is_signed {
                continue;
            }
            let encoding = Encoding { bits, is_signed };
            let (least, most) = encoding.bounds();
            for number in [least, most, 0, most / 3] {
                for offset in 0..9 {
                    let mut value = [0x5a; 10];
                    encoding.store(&mut value, offset, number);
                    assert_eq!(
                        encoding.load(&value, offset),
                        number,
                        "{encoding:?} at {offset}"
                    );
                    assert_eq!(value[9], 0x5a);
                }
            }
        }
    }
}

#[test]
fn overflow_wraps_saturates_or_fails() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("bitfield a set u8 0 250");
    assert_eq!(
        keyspace.run_line("bitfield a incrby u8 0 10"),
        "*1\r\n:4\r\n"
    );
    keyspace.run_line("bitfield a set u8 0 250");
    assert_eq!(
        keyspace.run_line("bitfield a overflow sat incrby u8 0 10"),
        "*1\r\n:255\r\n"
    );
    assert_eq!(
        keyspace.run_line("bitfield a overflow fail incrby u8 0 10"),
        "*1\r\n$-1\r\n"
    );
    assert_eq!(keyspace.run_line("bitfield a get i8 0"), "*1\r\n:-1\r\n");
    assert_eq!(
        keyspace.run_line("bitfield b incrby i64 0 9223372036854775807 incrby i64 0 1"),
        "*2\r\n:9223372036854775807\r\n:-9223372036854775808\r\n"
    );
}

#[test]
fn value_grows_even_if_every_operation_fails() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(
        keyspace.run_line("bitfield a overflow fail incrby u1 8 5"),
        "*1\r\n$-1\r\n"
    );
    assert_eq!(keyspace.value(b"a"), Some(&[0, 0][..]));
}

#[test]
fn reads_write_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("bitfield a get u8 #1000"), "*1\r\n:0\r\n");
    assert_eq!(keyspace.run_line("bitfield_ro a get i5 3"), "*1\r\n:0\r\n");
    assert_eq!(keyspace.value(b"a"), None);
    let error = "-ERR BITFIELD_RO only supports the GET subcommand\r\n";
    assert_eq!(keyspace.run_line("bitfield_ro a set u8 0 1"), error);
}

#[test]
fn fields_of_impossible_width_are_refused() {
    let mut keyspace = MemoryKeyspace::default();
    for encoding in ["u64", "i65", "u0", "i-1", "x8", "8", "u08", ""] {
        let reply = keyspace.run_line(&format!("bitfield a get {encoding} 0"));
        assert!(
            reply.starts_with("-ERR Invalid bitfield type."),
            "{encoding}: {reply}"
        );
    }
}
