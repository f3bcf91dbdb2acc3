use crate::testing::MemoryKeyspace;
use std::collections::BTreeSet;

fn words(reply: &str) -> Vec<&str> {
    reply
        .split("\r\n")
        .filter(|line| line.starts_with('f'))
        .collect()
}

fn filled() -> MemoryKeyspace {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h f1 1 f2 2 f3 3 f4 4");
    keyspace
}

#[test]
fn every_field_is_drawn_some_time() {
    let mut keyspace = filled();
    let mut seen = BTreeSet::new();
    for _ in 0..200 {
        let reply = keyspace.run_line("HRANDFIELD h");
        seen.insert(reply);
    }
    assert_eq!(seen.len(), 4);
    for count in ["2", "-2"] {
        let mut seen = BTreeSet::new();
        for _ in 0..400 {
            let reply = keyspace.run_line(&format!("HRANDFIELD h {count}"));
            seen.extend(words(&reply).into_iter().map(str::to_owned));
        }
        assert_eq!(seen.len(), 4, "{count}");
    }
}

#[test]
fn a_positive_count_draws_each_field_once() {
    let mut keyspace = filled();
    for count in 1..7 {
        let reply = keyspace.run_line(&format!("HRANDFIELD h {count}"));
        let drawn = words(&reply);
        let different: BTreeSet<&str> = drawn.iter().copied().collect();
        assert_eq!(drawn.len(), different.len());
        assert_eq!(drawn.len(), count.min(4));
    }
}

#[test]
fn a_negative_count_is_reserved_for_and_bounded() {
    let mut keyspace = filled();
    let reply = keyspace.run_line("HRANDFIELD h -1000 WITHVALUES");
    assert!(reply.starts_with("*2000\r\n"));
    assert!(keyspace.reserved >= reply.len(), "{}", keyspace.reserved);
    let reply = keyspace.run_line("HRANDFIELD h -1000000000000");
    assert!(
        reply.starts_with("-ERR the reply could be longer"),
        "{reply}"
    );
}
