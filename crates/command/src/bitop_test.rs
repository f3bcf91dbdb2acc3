use crate::testing::MemoryKeyspace;

#[test]
fn shorter_values_count_as_if_zeros_followed() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("mset a abc b a");
    assert_eq!(keyspace.run_line("bitop and to a b"), ":3\r\n");
    assert_eq!(keyspace.value(b"to"), Some(&b"a\0\0"[..]));
    assert_eq!(keyspace.run_line("bitop OR to b a"), ":3\r\n");
    assert_eq!(keyspace.value(b"to"), Some(&b"abc"[..]));
    assert_eq!(keyspace.run_line("bitop xor to a b"), ":3\r\n");
    assert_eq!(keyspace.value(b"to"), Some(&b"\0bc"[..]));
    assert_eq!(keyspace.run_line("bitop not to b"), ":1\r\n");
    assert_eq!(keyspace.value(b"to"), Some(&[!b'a'][..]));
}

#[test]
fn result_of_nothing_removes_the_target() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set to x");
    assert_eq!(keyspace.run_line("bitop or to missing"), ":0\r\n");
    assert_eq!(keyspace.value(b"to"), None);
}

#[test]
fn not_takes_one_source() {
    let mut keyspace = MemoryKeyspace::default();
    let error = "-ERR BITOP NOT must be called with a single source key.\r\n";
    assert_eq!(keyspace.run_line("bitop not to a b"), error);
    assert_eq!(
        keyspace.run_line("bitop nand to a b"),
        "-ERR syntax error\r\n"
    );
}
