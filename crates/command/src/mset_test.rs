use crate::testing::MemoryKeyspace;

#[test]
fn mset_takes_the_last_of_equal_keys_and_clears_expiries() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 0 ex 100");
    assert_eq!(keyspace.run_line("mset a 1 b 2 a 3"), "+OK\r\n");
    assert_eq!(
        keyspace.run_line("mget a b c"),
        "*3\r\n$1\r\n3\r\n$1\r\n2\r\n$-1\r\n"
    );
    assert_eq!(keyspace.expires_at(b"a"), None);
}

#[test]
fn msetnx_sets_all_or_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("msetnx a 1 b 2"), ":1\r\n");
    assert_eq!(keyspace.run_line("msetnx c 3 a 4"), ":0\r\n");
    assert_eq!(keyspace.value(b"c"), None);
}

#[test]
fn key_without_value_is_a_wrong_number_of_arguments() {
    let mut keyspace = MemoryKeyspace::default();
    for name in ["mset", "msetnx"] {
        let error = format!("-ERR wrong number of arguments for '{name}' command\r\n");
        assert_eq!(keyspace.run_line(&format!("{name} a 1 b")), error);
    }
}
