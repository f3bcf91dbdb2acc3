use super::*;
use crate::args::OwnedArgs;
use crate::table::{COMMANDS, Spec, flag};
use crate::testing::MemoryKeyspace;
use brickyard_wire::Protocol;

fn data_commands() -> impl Iterator<Item = &'static Spec> {
    COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
        .filter(|spec| is_data_command(spec.id))
}

/// Requests that get past the checks of most commands: arguments are keys and numbers at once.
fn requests(spec: &Spec) -> Vec<OwnedArgs> {
    let shortest = usize::from(spec.arity.unsigned_abs());
    let mut requests = Vec::new();
    for filler in ["1", "0", "or", "a"] {
        for extra in [0, 1, 2, 4] {
            let name = spec.name.split('|').map(str::to_owned);
            let mut words: Vec<String> = name.collect();
            while words.len() < shortest + extra {
                words.push(filler.to_owned());
            }
            requests.push(words.iter().collect());
        }
    }
    for line in [
        "bitop or to 1 0",
        "bitfield 1 set u8 0 1 get u8 0",
        "set 1 2 get",
        "set 1 2 ifeq 1",
        "getex 1 ex 5",
    ] {
        requests.push(line.split(' ').collect());
    }
    requests
}

#[test]
fn every_command_with_keys_of_its_own_is_a_data_command() {
    let others = [CommandId::Watch];
    for spec in COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
    {
        // A channel is no key.
        let has_keys = spec.key_first > 0 && !spec.has(flag::PUBSUB);
        let is_data = has_keys && !others.contains(&spec.id);
        assert_eq!(is_data_command(spec.id), is_data, "{}", spec.name);
    }
}

#[test]
fn no_request_panics() {
    for spec in data_commands() {
        for request in requests(spec) {
            let mut keyspace = MemoryKeyspace::default();
            keyspace.run_line("mset 1 1 0 abc a xyz");
            keyspace.run(Protocol::Resp3, &request);
        }
    }
}

/// `try_run` fails the test if something was put before the command suspended.
#[test]
fn command_that_suspends_has_neither_written_nor_replied() {
    for spec in data_commands() {
        for request in requests(spec) {
            for cold in ["1", "0", "a", "or"] {
                let mut keyspace = MemoryKeyspace::default();
                keyspace.run_line("mset 1 1 0 abc a xyz");
                keyspace.cold.push(cold.as_bytes().to_vec());
                let mut out = b"before".to_vec();
                let mut reply = Reply::new(&mut out, Protocol::Resp2);
                let outcome = keyspace.try_run(request.as_args(), &mut reply);
                assert_eq!(outcome.is_err(), out == b"before", "{request:?}");
            }
        }
    }
}

#[test]
fn cold_value_suspends_what_needs_it_and_nothing_else() {
    let run = |line: &str| {
        let mut keyspace = MemoryKeyspace::default();
        keyspace.run_line("mset a 1 b 2");
        keyspace.cold.push(b"a".to_vec());
        let request: OwnedArgs = line.split(' ').collect();
        let mut out = Vec::new();
        keyspace.try_run(
            request.as_args(),
            &mut Reply::new(&mut out, Protocol::Resp2),
        )
    };
    for line in [
        "get a",
        "incr a",
        "mget b a",
        "append a 1",
        "expire a 5",
        "getdel a",
        "set a 1 get",
    ] {
        assert_eq!(run(line), Err(Failure::Suspend), "{line}");
    }
    for line in [
        "get b",
        "set a 1",
        "set a 1 nx",
        "del a",
        "exists a",
        "ttl a",
        "strlen a",
        "msetnx a 1",
    ] {
        assert_eq!(run(line), Ok(()), "{line}");
    }
}
