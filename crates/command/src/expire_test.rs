use crate::testing::MemoryKeyspace;

#[test]
fn times_are_told_in_every_unit() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("pexpire a 2500"), ":1\r\n");
    assert_eq!(keyspace.run_line("pttl a"), ":2500\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":3\r\n");
    assert_eq!(keyspace.run_line("pexpiretime a"), ":1002500\r\n");
    assert_eq!(keyspace.run_line("expiretime a"), ":1003\r\n");
    assert_eq!(keyspace.run_line("ttl missing"), ":-2\r\n");
    assert_eq!(keyspace.run_line("persist a"), ":1\r\n");
    assert_eq!(keyspace.run_line("persist a"), ":0\r\n");
    assert_eq!(keyspace.run_line("expiretime a"), ":-1\r\n");
}

#[test]
fn conditions_compare_with_the_expiry_that_is_there() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("expire a 100 xx"), ":0\r\n");
    assert_eq!(keyspace.run_line("expire a 100 gt"), ":0\r\n");
    assert_eq!(keyspace.run_line("expire a 100 lt"), ":1\r\n");
    assert_eq!(keyspace.run_line("expire a 50 nx"), ":0\r\n");
    assert_eq!(keyspace.run_line("expire a 100 gt"), ":0\r\n");
    assert_eq!(keyspace.run_line("expire a 200 xx gt"), ":1\r\n");
    assert_eq!(keyspace.run_line("expire a 201 lt"), ":0\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":200\r\n");
}

#[test]
fn time_that_has_passed_removes_the_key() {
    let mut keyspace = MemoryKeyspace::default();
    for line in [
        "expire a -1",
        "expireat a 1000",
        "pexpireat a -5",
        "pexpire a 0",
    ] {
        keyspace.run_line("set a 1");
        assert_eq!(keyspace.run_line(line), ":1\r\n", "{line}");
        assert_eq!(keyspace.value(b"a"), None, "{line}");
    }
}

#[test]
fn requests_are_checked_before_the_key_is_looked_for() {
    let mut keyspace = MemoryKeyspace::default();
    let cases = [
        ("expire a 1 no", "-ERR Unsupported option no\r\n"),
        ("expire a x no", "-ERR Unsupported option no\r\n"),
        (
            "expire a x",
            "-ERR value is not an integer or out of range\r\n",
        ),
        (
            "expire a 1 nx gt",
            "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n",
        ),
        (
            "expire a 1 lt gt",
            "-ERR GT and LT options at the same time are not compatible\r\n",
        ),
        (
            "expire a 9223372036854776",
            "-ERR invalid expire time in 'expire' command\r\n",
        ),
        (
            "pexpire a 9223372036854775807",
            "-ERR invalid expire time in 'pexpire' command\r\n",
        ),
    ];
    for (line, error) in cases {
        assert_eq!(keyspace.run_line(line), error, "{line}");
    }
}
