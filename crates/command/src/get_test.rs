use super::range_of;
use crate::args::OwnedArgs;
use crate::error::Failure;
use crate::testing::MemoryKeyspace;
use brickyard_wire::{Protocol, Reply};

#[test]
fn getex_changes_the_expiry_only_if_asked() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1 ex 100");
    assert_eq!(keyspace.run_line("getex a"), "$1\r\n1\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":100\r\n");
    assert_eq!(keyspace.run_line("getex a ex 7"), "$1\r\n1\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":7\r\n");
    assert_eq!(keyspace.run_line("getex a persist"), "$1\r\n1\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":-1\r\n");
    assert_eq!(keyspace.run_line("getex a pxat 1"), "$1\r\n1\r\n");
    assert_eq!(keyspace.run_line("exists a"), ":0\r\n");
}

#[test]
fn getex_of_a_missing_key_does_not_look_at_the_number() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("getex a ex nonsense"), "$-1\r\n");
    keyspace.run_line("set a 1");
    let error = "-ERR value is not an integer or out of range\r\n";
    assert_eq!(keyspace.run_line("getex a ex nonsense"), error);
}

#[test]
fn getdel_removes_what_it_returns() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 1");
    assert_eq!(keyspace.run_line("getdel a"), "$1\r\n1\r\n");
    assert_eq!(keyspace.run_line("getdel a"), "$-1\r\n");
}

#[test]
fn ranges_count_from_both_ends() {
    assert_eq!(range_of(5, 0, -1), Some(0..5));
    assert_eq!(range_of(5, 1, 3), Some(1..4));
    assert_eq!(range_of(5, -3, -2), Some(2..4));
    assert_eq!(range_of(5, -100, 100), Some(0..5));
    assert_eq!(range_of(5, -2, -3), None);
    assert_eq!(range_of(5, 5, 9), None);
    assert_eq!(range_of(5, i64::MIN, i64::MAX), Some(0..5));
    assert_eq!(range_of(0, 0, -1), None);
}

#[test]
fn getrange_of_a_missing_key_is_empty() {
    let mut keyspace = MemoryKeyspace::default();
    assert_eq!(keyspace.run_line("getrange a 0 -1"), "$0\r\n\r\n");
    keyspace.run_line("set a hello");
    assert_eq!(keyspace.run_line("substr a 1 -2"), "$3\r\nell\r\n");
}

#[test]
fn mget_looks_at_every_key_before_it_suspends() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("mset a 1 b 2 c 3");
    keyspace.cold = vec![b"a".to_vec(), b"c".to_vec()];
    let request: OwnedArgs = "mget a b c".split(' ').collect();
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, Protocol::Resp2);
    let outcome = keyspace.try_run(request.as_args(), &mut reply);
    assert_eq!(outcome, Err(Failure::Suspend));
    assert_eq!(keyspace.suspended, [b"a", b"c"]);
    assert!(out.is_empty());
}
