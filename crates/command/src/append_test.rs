use crate::testing::MemoryKeyspace;

#[test]
fn append_keeps_the_expiry_and_makes_the_value_raw() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("append a 1"), ":1\r\n");
    assert_eq!(keyspace.run_line("object encoding a"), "$3\r\nint\r\n");
    keyspace.run_line("expire a 100");
    assert_eq!(keyspace.run_line("append a 2"), ":2\r\n");
    assert_eq!(keyspace.run_line("object encoding a"), "$3\r\nraw\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":100\r\n");
}

#[test]
fn setrange_fills_with_zero_bytes() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("setrange a 3 xy"), ":5\r\n");
    assert_eq!(keyspace.value(b"a"), Some(&b"\0\0\0xy"[..]));
    assert_eq!(keyspace.run_line("setrange a 1 z"), ":5\r\n");
    assert_eq!(keyspace.value(b"a"), Some(&b"\0z\0xy"[..]));
}

#[test]
fn setrange_of_nothing_changes_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("setrange a 536870912 "), ":0\r\n");
    assert_eq!(keyspace.value(b"a"), None);
}

#[test]
fn setrange_past_the_bound_is_refused() {
    let mut keyspace = MemoryKeyspace::default();
    let error = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
    assert_eq!(keyspace.run_line("setrange a 67108864 x"), error);
    assert_eq!(keyspace.run_line("setrange a 9223372036854775807 x"), error);
    assert_eq!(
        keyspace.run_line("setrange a -1 x"),
        "-ERR offset is out of range\r\n"
    );
}
