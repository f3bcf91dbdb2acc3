use crate::testing::MemoryKeyspace;

#[test]
fn rename_takes_value_expiry_and_form_along() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("append a 1");
    keyspace.run_line("append a 2");
    keyspace.run_line("expire a 100");
    keyspace.run_line("set b other");
    assert_eq!(keyspace.run_line("rename a b"), "+OK\r\n");
    assert_eq!(keyspace.run_line("mget a b"), "*2\r\n$-1\r\n$2\r\n12\r\n");
    assert_eq!(keyspace.run_line("ttl b"), ":100\r\n");
    assert_eq!(keyspace.run_line("object encoding b"), "$3\r\nraw\r\n");
}

#[test]
fn rename_of_a_missing_key_is_an_error_even_to_itself() {
    let mut keyspace = MemoryKeyspace::default();
    for line in ["rename a a", "rename a b", "renamenx a b"] {
        assert_eq!(keyspace.run_line(line), "-ERR no such key\r\n", "{line}");
    }
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("rename a a"), "+OK\r\n");
    assert_eq!(keyspace.run_line("renamenx a a"), ":0\r\n");
    assert_eq!(keyspace.value(b"a"), Some(&b"1"[..]));
}

#[test]
fn copy_leaves_the_source_and_asks_before_it_overwrites() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("mset a 1 b 2");
    assert_eq!(keyspace.run_line("copy a b"), ":0\r\n");
    assert_eq!(keyspace.run_line("copy a b replace db 0"), ":1\r\n");
    assert_eq!(
        keyspace.run_line("mget a b"),
        "*2\r\n$1\r\n1\r\n$1\r\n1\r\n"
    );
    assert_eq!(keyspace.run_line("copy missing c"), ":0\r\n");
    let error = "-ERR source and destination objects are the same\r\n";
    assert_eq!(keyspace.run_line("copy a a"), error);
}

#[test]
fn copy_stays_within_its_table() {
    let mut keyspace = MemoryKeyspace::default();
    let error = "-ERR Copying to another database is not allowed in cluster mode\r\n";
    assert_eq!(keyspace.run_line("copy a b db 1"), error);
    assert_eq!(
        keyspace.run_line("copy a b db 16"),
        "-ERR DB index is out of range\r\n"
    );
    assert_eq!(keyspace.run_line("copy a b db"), "-ERR syntax error\r\n");
}
