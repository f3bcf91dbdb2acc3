use crate::testing::MemoryKeyspace;

fn keyspace() -> MemoryKeyspace {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("mset a ohmytext b mynewtext");
    keyspace
}

#[test]
fn longest_common_sequence_is_found() {
    assert_eq!(keyspace().run_line("lcs a b"), "$6\r\nmytext\r\n");
    assert_eq!(keyspace().run_line("lcs a b len"), ":6\r\n");
    assert_eq!(keyspace().run_line("lcs a missing"), "$0\r\n\r\n");
}

#[test]
fn matches_are_listed_from_the_last() {
    let reply = "*4\r\n$7\r\nmatches\r\n*1\r\n*3\r\n*2\r\n:4\r\n:7\r\n*2\r\n:5\r\n:8\r\n:4\r\n$3\r\nlen\r\n:6\r\n";
    assert_eq!(
        keyspace().run_line("lcs a b idx minmatchlen 4 withmatchlen"),
        reply
    );
}

#[test]
fn values_whose_table_is_too_large_are_refused() {
    let mut keyspace = keyspace();
    keyspace.value_bytes_max = 300;
    let error = "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len\r\n";
    assert_eq!(keyspace.run_line("lcs a b"), error);
}
