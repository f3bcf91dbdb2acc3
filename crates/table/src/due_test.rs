use super::*;
use crate::{Put, TableConfig, TableData, ValueRef};
use brickyard_types::{Medium, Position, ValueType};
use std::collections::BTreeMap;

const START: u64 = 1_700_000_000_000;

struct Keys {
    table: TableData,
    partition: LocalPartition,
    op: u64,
}

impl Keys {
    fn new() -> Self {
        let mut table = TableData::new(TableConfig {
            seed: 4,
            medium: Medium::Ram,
            evicts: false,
        });
        let partition = table.add_partition();
        let mut keys = Self {
            table,
            partition,
            op: 0,
        };
        assert!(keys.due(START).is_empty());
        keys
    }

    fn put(&mut self, key: &str, expires_at: Option<u64>) {
        self.op += 1;
        let put = Put {
            value: ValueRef::Hot(b"value"),
            expires_at: expires_at.map(UnixMillis),
            op: Op(self.op),
            position: Position::NONE,
            value_type: ValueType::String,
        };
        let hash = self.table.hash(key.as_bytes());
        self.table
            .put(self.partition, hash, key.as_bytes(), &put)
            .unwrap();
    }

    fn remove(&mut self, key: &str) {
        self.op += 1;
        let hash = self.table.hash(key.as_bytes());
        self.table
            .remove(self.partition, hash, key.as_bytes(), Op(self.op));
    }

    fn due(&mut self, now: u64) -> Vec<String> {
        let mut due = Vec::new();
        let now = UnixMillis(now);
        while self.table.due(now, 100, |expired| {
            assert!(expired.expires_at <= now);
            due.push(String::from_utf8(expired.key.to_vec()).unwrap());
        }) {}
        due.sort();
        due.dedup();
        due
    }
}

#[test]
fn keys_are_reported_soon_after_their_time_and_not_before() {
    let mut keys = Keys::new();
    // Times from a millisecond to a year ahead.
    let mut times = BTreeMap::new();
    for number in 0_u64..400 {
        let at = START + (1 << (number % 35)) + number * 37;
        keys.put(&number.to_string(), Some(at));
        times.insert(number.to_string(), at);
    }
    let mut now = START;
    while !times.is_empty() {
        now += 100 + (now - START) / 50;
        for key in keys.due(now) {
            let at = times
                .remove(&key)
                .expect("reported once, since it is removed then");
            assert!(at <= now);
            keys.remove(&key);
        }
        let late: Vec<_> = times.iter().filter(|&(_, &at)| at + 300 < now).collect();
        assert_eq!(late, [], "at {now}");
    }
    keys.table.check();
    // The entries that would have reported them again are dropped when their time comes.
    assert!(keys.due(now + 5000).is_empty());
    assert_eq!(keys.table.timers.entries(), 0);
}

#[test]
fn key_that_stays_is_reported_each_second() {
    let mut keys = Keys::new();
    keys.put("stays", Some(START + 50));
    let mut reported = 0;
    for step in 1..=100 {
        reported += keys.due(START + step * 100).len();
    }
    assert!(
        (8..=12).contains(&reported),
        "{reported} times in ten seconds"
    );
}

#[test]
fn time_can_be_set_further_ahead_or_nearer_or_taken_away() {
    let mut keys = Keys::new();
    keys.put("later", Some(START + 1000));
    keys.put("later", Some(START + 50_000));
    keys.put("sooner", Some(START + 500_000));
    keys.put("sooner", Some(START + 1000));
    keys.put("never", Some(START + 1000));
    keys.put("never", None);
    keys.put("again", Some(START + 1000));
    keys.remove("again");
    keys.put("again", Some(START + 60_000));
    keys.table.check();
    assert_eq!(keys.due(START + 5000), ["sooner"]);
    keys.remove("sooner");
    assert_eq!(keys.due(START + 49_000), [""; 0]);
    assert_eq!(keys.due(START + 51_000), ["later"]);
    keys.remove("later");
    assert_eq!(keys.due(START + 61_000), ["again"]);
    keys.remove("again");
    assert_eq!(keys.due(START + 5_000_000), [""; 0]);
    assert_eq!(keys.table.len_total(), 1);
}

#[test]
fn time_set_ahead_again_and_again_takes_one_entry() {
    let mut keys = Keys::new();
    for step in 0..10_000 {
        keys.put("session", Some(START + 30_000 + step));
    }
    assert_eq!(keys.table.timers.entries(), 1);
}

#[test]
fn entries_do_not_pile_up_when_keys_come_and_go() {
    let mut keys = Keys::new();
    for step in 0_u64..60_000 {
        let key = (step % 500).to_string();
        if step % 3 == 0 {
            keys.put(&key, None);
        } else {
            keys.remove(&key);
        }
        keys.put(&key, Some(START + 86_400_000 + step % 7 * 1_000_000));
        if step % 1000 == 0 {
            keys.table.check();
        }
        assert!(
            keys.table.timers.entries() < 10_000,
            "{}",
            keys.table.timers.entries()
        );
    }
    keys.table.check();
    assert_eq!(keys.table.expires_count_total(), 500);
    assert_eq!(keys.due(START + 100_000_000).len(), 500);
}

#[test]
fn times_beyond_all_calendars_are_kept_exactly_and_never_come() {
    let mut keys = Keys::new();
    for (key, at) in [("far", 1 << 56), ("farther", i64::MAX as u64)] {
        keys.put(key, Some(at));
        let hash = keys.table.hash(key.as_bytes());
        let found = keys
            .table
            .peek(keys.partition, hash, key.as_bytes())
            .unwrap();
        assert_eq!(found.expires_at, Some(UnixMillis(at)));
    }
    assert_eq!(keys.table.timers.entries(), 0);
    keys.table.check();
}

#[test]
fn average_ttl_is_over_the_keys_that_have_one() {
    let mut keys = Keys::new();
    assert_eq!(keys.table.average_ttl_ms(UnixMillis(START)), 0);
    keys.put("first", Some(START + 1000));
    keys.put("second", Some(START + 3000));
    keys.put("third", None);
    assert_eq!(keys.table.average_ttl_ms(UnixMillis(START)), 2000);
    assert_eq!(keys.table.expires_count(keys.partition), 2);
}
