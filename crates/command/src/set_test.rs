use crate::testing::MemoryKeyspace;
use brickyard_types::UnixMillis;

#[test]
fn set_clears_the_expiry_unless_told_to_keep_it() {
    let mut keyspace = MemoryKeyspace::default();
    let at = Some(UnixMillis(keyspace.now.0 + 10_000));
    assert_eq!(keyspace.run_line("SET a 1 EX 10"), "+OK\r\n");
    assert_eq!(keyspace.expires_at(b"a"), at);
    assert_eq!(keyspace.run_line("set a 2 keepttl"), "+OK\r\n");
    assert_eq!(keyspace.expires_at(b"a"), at);
    assert_eq!(keyspace.run_line("set a 3"), "+OK\r\n");
    assert_eq!(keyspace.expires_at(b"a"), None);
}

#[test]
fn set_nx_and_xx_look_at_the_key_first() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("set a 1 xx"), "$-1\r\n");
    assert_eq!(keyspace.run_line("set a 1 nx"), "+OK\r\n");
    assert_eq!(keyspace.run_line("set a 2 nx"), "$-1\r\n");
    assert_eq!(keyspace.run_line("set a 2 xx get"), "$1\r\n1\r\n");
    assert_eq!(keyspace.run_line("set a 3 nx get"), "$1\r\n2\r\n");
    assert_eq!(keyspace.value(b"a"), Some(&b"2"[..]));
}

#[test]
fn set_ifeq_sets_over_that_value_alone() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("set a new ifeq old"), "$-1\r\n");
    assert_eq!(keyspace.value(b"a"), None);
    keyspace.run_line("set a old");
    assert_eq!(keyspace.run_line("set a new ifeq other"), "$-1\r\n");
    assert_eq!(keyspace.run_line("set a new IFEQ old"), "+OK\r\n");
    assert_eq!(
        keyspace.run_line("set a newer ifeq old get"),
        "$3\r\nnew\r\n"
    );
    assert_eq!(keyspace.value(b"a"), Some(&b"new"[..]));
}

#[test]
fn options_that_contradict_each_other_are_a_syntax_error() {
    let mut keyspace = MemoryKeyspace::default();
    let lines = [
        "set a 1 nx xx",
        "set a 1 nx ifeq 2",
        "set a 1 ifeq 2 xx",
        "set a 1 ifeq",
        "set a 1 ex 1 px 1",
        "set a 1 keepttl ex 1",
        "set a 1 ex 1 keepttl",
        "set a 1 ex",
        "set a 1 persist",
        "set a 1 nonsense",
    ];
    for line in lines {
        assert_eq!(keyspace.run_line(line), "-ERR syntax error\r\n", "{line}");
    }
}

#[test]
fn expiry_that_no_clock_reaches_is_refused() {
    let mut keyspace = MemoryKeyspace::default();
    for line in [
        "set a 1 ex 0",
        "set a 1 px -1",
        "set a 1 ex 9223372036854775",
        "set a 1 px 9223372036854775807",
    ] {
        let error = "-ERR invalid expire time in 'set' command\r\n";
        assert_eq!(keyspace.run_line(line), error, "{line}");
    }
    let error = "-ERR invalid expire time in 'psetex' command\r\n";
    assert_eq!(keyspace.run_line("psetex a 0 1"), error);
}

#[test]
fn set_that_expired_before_it_came_leaves_no_key() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("set a 2 pxat 5"), "+OK\r\n");
    assert_eq!(keyspace.value(b"a"), None);
}

#[test]
fn value_longer_than_the_bound_is_refused() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.value_bytes_max = 3;
    let error = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
    for line in [
        "set a 1234",
        "setnx a 1234",
        "getset a 1234",
        "mset a 1 b 1234",
        "append a 1234",
    ] {
        assert_eq!(keyspace.run_line(line), error, "{line}");
    }
    assert_eq!(keyspace.run_line("mget a b"), "*2\r\n$-1\r\n$-1\r\n");
}
