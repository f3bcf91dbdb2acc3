use crate::testing::MemoryKeyspace;

#[test]
fn del_counts_each_key_once() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("mset a 1 b 2");
    assert_eq!(keyspace.run_line("del a a b c"), ":2\r\n");
    assert_eq!(keyspace.run_line("unlink a"), ":0\r\n");
}

#[test]
fn delifeq_removes_that_value_alone() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("delifeq a 1"), ":0\r\n");
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("delifeq a 2"), ":0\r\n");
    assert_eq!(keyspace.run_line("delifeq a 1"), ":1\r\n");
    assert_eq!(keyspace.value(b"a"), None);
}
