use crate::testing::MemoryKeyspace;

#[test]
fn encoding_is_what_redis_would_choose() {
    let mut keyspace = MemoryKeyspace::default();
    let text = "x".repeat(44);
    let cases = [
        ("12", "int"),
        ("012", "embstr"),
        ("", "embstr"),
        (text.as_str(), "embstr"),
    ];
    for (value, encoding) in cases {
        keyspace.run_line(&format!("set a {value}"));
        let reply = format!("${}\r\n{encoding}\r\n", encoding.len());
        assert_eq!(keyspace.run_line("object encoding a"), reply, "{value}");
    }
    keyspace.run_line(&format!("set a {text}y"));
    assert_eq!(keyspace.run_line("object encoding a"), "$3\r\nraw\r\n");
}

#[test]
fn missing_key_is_null() {
    let mut keyspace = MemoryKeyspace::default();
    for line in [
        "object encoding a",
        "object refcount a",
        "object freq a",
        "object idletime a",
        "memory usage a",
    ] {
        assert_eq!(keyspace.run_line(line), "$-1\r\n", "{line}");
    }
}

#[test]
fn memory_usage_checks_its_option() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("memory usage a samples 5"), ":2\r\n");
    for line in [
        "memory usage a samples",
        "memory usage a samples -1",
        "memory usage a other 1",
    ] {
        assert_eq!(keyspace.run_line(line), "-ERR syntax error\r\n", "{line}");
    }
}
