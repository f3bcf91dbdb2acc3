use super::*;
use crate::args::OwnedArgs;
use crate::resolve::resolve;
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

const OUT_OF_RANGE: &str = "-ERR DB index is out of range\r\n";
const SAME: &str = "-ERR source and destination objects are the same\r\n";

#[test]
fn copy_reaches_another_table_where_that_is_at_hand() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.other = Some(1);
    keyspace.run_line("set a 1 px 5000");
    let expires_at = keyspace.expires_at(b"a");
    assert!(expires_at.is_some());
    assert_eq!(keyspace.run_line("copy missing a db 1"), ":0\r\n");
    assert_eq!(keyspace.run_line("copy a a db 1"), ":1\r\n");
    assert_eq!(keyspace.across(b"a"), Some((&b"1"[..], expires_at)));
    keyspace.run_line("set a 2");
    assert_eq!(keyspace.run_line("copy a a db 1"), ":0\r\n");
    assert_eq!(keyspace.across(b"a"), Some((&b"1"[..], expires_at)));
    assert_eq!(keyspace.run_line("copy a a db 1 replace"), ":1\r\n");
    assert_eq!(keyspace.across(b"a"), Some((&b"2"[..], None)));
    assert_eq!(keyspace.value(b"a"), Some(&b"2"[..]));
    assert_eq!(keyspace.run_line("copy a a db 0"), SAME);
    assert_eq!(keyspace.run_line("copy a b db 16"), OUT_OF_RANGE);
    assert_eq!(keyspace.run_line("copy a b db"), "-ERR syntax error\r\n");
}

#[test]
fn move_takes_a_key_to_another_table_unless_it_is_there() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.other = Some(1);
    keyspace.run_line("set a 1 px 5000");
    let expires_at = keyspace.expires_at(b"a");
    assert_eq!(keyspace.run_line("move missing 1"), ":0\r\n");
    assert_eq!(keyspace.run_line("move a 1"), ":1\r\n");
    assert_eq!(keyspace.value(b"a"), None);
    assert_eq!(keyspace.across(b"a"), Some((&b"1"[..], expires_at)));
    keyspace.run_line("set a 2");
    assert_eq!(keyspace.run_line("move a 1"), ":0\r\n");
    assert_eq!(keyspace.value(b"a"), Some(&b"2"[..]));
    assert_eq!(keyspace.run_line("move a 0"), SAME);
    for number in ["16", "-1"] {
        assert_eq!(keyspace.run_line(&format!("move a {number}")), OUT_OF_RANGE);
    }
    let error = "-ERR value is not an integer or out of range\r\n";
    assert_eq!(keyspace.run_line("move a x"), error);
}

#[test]
fn what_is_out_of_reach_is_refused_whatever_is_there() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    for line in ["copy a b db 1", "copy missing b db 1", "move a 1"] {
        let told = keyspace.run_line(line);
        assert!(told.starts_with("-ERR MOVE, and COPY to another"), "{told}");
    }
    assert_eq!(keyspace.value(b"a"), Some(&b"1"[..]));
}

#[test]
fn the_table_that_a_command_names_is_read_of_its_arguments() {
    let named = |line: &str| {
        let words: OwnedArgs = line.split(' ').collect();
        let args = words.as_args();
        let spec = resolve(args).unwrap();
        database_named(spec.id, args)
    };
    assert_eq!(named("move a 3"), Ok(Some(3)));
    assert_eq!(named("copy a b replace db 15"), Ok(Some(15)));
    assert_eq!(named("copy a b replace"), Ok(None));
    assert_eq!(named("copy a b"), Ok(None));
    assert_eq!(named("rename a 3"), Ok(None));
    assert!(named("copy a b db 16").is_err() && named("move a b").is_err());
}
