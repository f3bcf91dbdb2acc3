use crate::testing::MemoryKeyspace;

#[test]
fn missing_key_counts_as_zero() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("incr a"), ":1\r\n");
    assert_eq!(keyspace.run_line("decrby b 5"), ":-5\r\n");
}

#[test]
fn sum_that_overflows_is_refused_and_changes_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 9223372036854775807");
    let error = "-ERR increment or decrement would overflow\r\n";
    assert_eq!(keyspace.run_line("incr a"), error);
    assert_eq!(keyspace.run_line("incrby a 1"), error);
    assert_eq!(keyspace.value(b"a"), Some(&b"9223372036854775807"[..]));
    let error = "-ERR decrement would overflow\r\n";
    assert_eq!(keyspace.run_line("decrby a -9223372036854775808"), error);
}

#[test]
fn value_that_is_no_integer_is_refused() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("mset a 01 b 1.0");
    let error = "-ERR value is not an integer or out of range\r\n";
    for line in ["incr a", "incr b", "incrby c 1.0", "decrby c +1"] {
        assert_eq!(keyspace.run_line(line), error, "{line}");
    }
}

#[test]
fn increment_keeps_the_expiry() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1 ex 50");
    keyspace.run_line("incrby a 41");
    assert_eq!(keyspace.run_line("ttl a"), ":50\r\n");
}
