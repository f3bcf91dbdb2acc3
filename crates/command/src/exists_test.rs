use crate::testing::MemoryKeyspace;

#[test]
fn key_that_is_named_twice_counts_twice() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("exists a a b"), ":2\r\n");
    assert_eq!(keyspace.run_line("touch a b"), ":1\r\n");
    assert_eq!(keyspace.run_line("type a"), "+string\r\n");
    assert_eq!(keyspace.run_line("type b"), "+none\r\n");
}

#[test]
fn expired_key_is_not_there() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1 px 5");
    keyspace.now.0 += 5;
    assert_eq!(keyspace.run_line("exists a"), ":1\r\n");
    keyspace.now.0 += 1;
    assert_eq!(keyspace.run_line("exists a"), ":0\r\n");
}
