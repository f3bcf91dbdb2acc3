//! Schedules: what comes when, and that nothing is lost or done twice.

use super::{KeyChange, KeyPlace, PlannedAction, Planner, ReadOutcome};
use brickyard_rdb::RdbValue;
use std::collections::BTreeMap;

fn place(key: &str) -> KeyPlace {
    KeyPlace {
        database: 0,
        key: key.as_bytes().to_vec(),
    }
}

fn bytes_of(value: RdbValue) -> Vec<u8> {
    match value {
        RdbValue::String(bytes) => bytes,
        RdbValue::Hash(_) => panic!("a hash where strings are"),
    }
}

fn set(value: &str) -> KeyChange {
    KeyChange::Set {
        value: RdbValue::String(value.as_bytes().to_vec()),
        expires_at: None,
    }
}

fn has(value: &str) -> ReadOutcome {
    ReadOutcome::Value {
        value: RdbValue::String(value.as_bytes().to_vec()),
        expires_at: None,
    }
}

/// A planner with a target that does what it is told, when it is told.
struct Copy {
    planner: Planner,
    target: BTreeMap<Vec<u8>, Vec<u8>>,
    at: u64,
}

impl Copy {
    fn new() -> Self {
        Self {
            planner: Planner::new([0], 0, 0),
            target: BTreeMap::new(),
            at: 0,
        }
    }

    /// A command of 10 bytes.
    fn command(&mut self, does: impl FnOnce(&mut Planner, u64, u64)) {
        let (start, end) = (self.at, self.at + 10);
        does(&mut self.planner, start, end);
        self.planner.on_end(end);
        self.at = end;
    }

    fn set(&mut self, key: &str, value: &str) {
        let (key, change) = (key.as_bytes().to_vec(), set(value));
        self.command(|it, start, end| it.on_change(start, end, key, change));
    }

    fn delete(&mut self, key: &str) {
        let key = key.as_bytes().to_vec();
        self.command(|it, start, end| it.on_change(start, end, key, KeyChange::Delete));
    }

    fn changed(&mut self, keys: &[&str]) {
        let keys = keys
            .iter()
            .map(|it| (None, it.as_bytes().to_vec()))
            .collect();
        self.command(|it, start, end| it.on_changed(start, end, keys));
    }

    fn flush(&mut self) {
        self.command(|it, start, end| it.on_flush(start, end, false));
    }

    fn reads(&mut self) -> Vec<String> {
        let places = self.planner.poll_reads(10).into_iter();
        places
            .map(|it| String::from_utf8(it.key).unwrap())
            .collect()
    }

    fn read(&mut self, key: &str, offset: u64, outcome: ReadOutcome) {
        self.planner.on_read(place(key), offset, outcome);
    }

    /// The target does everything that there is.
    fn run(&mut self) {
        while let Some(action) = self.planner.poll_action() {
            match action {
                PlannedAction::Change(place, change) => {
                    match change {
                        KeyChange::Set { value, .. } => {
                            self.target.insert(place.key.clone(), bytes_of(value));
                        }
                        KeyChange::Delete => {
                            self.target.remove(&place.key);
                        }
                        KeyChange::ExpireAt(_) | KeyChange::Persist | KeyChange::Execute(_) => {}
                    }
                    self.planner.on_done(&place);
                }
                PlannedAction::Flush(0) => {
                    self.target.clear();
                    self.planner.on_flushed();
                }
                PlannedAction::Flush(other) => panic!("database {other} is not copied"),
            }
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let value = self.target.get(key.as_bytes())?;
        Some(std::str::from_utf8(value).unwrap())
    }

    /// Nothing is left to do, and the resume point is at the end.
    fn assert_rests(&mut self) {
        self.run();
        assert_eq!(self.planner.pending(), 0);
        assert_eq!(self.planner.low_water(), self.at);
    }
}

#[test]
fn value_that_was_read_between_two_increments_has_the_first_one() {
    let mut copy = Copy::new();
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    copy.changed(&["n"]);
    copy.read("n", 10, has("1"));
    copy.run();
    assert_eq!(copy.get("n"), Some("1"));
    // The second is not known yet: the resume point is before it, and the key is read again.
    assert_eq!(copy.planner.low_water(), 10);
    assert_eq!(copy.reads(), ["n"]);
    copy.read("n", 20, has("2"));
    copy.assert_rests();
    assert_eq!(copy.get("n"), Some("2"));
}

#[test]
fn commands_that_are_in_the_value_are_passed_over() {
    let mut copy = Copy::new();
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    // The source was at 40 by then: `SET n 8` and an increment are in it.
    copy.read("n", 40, has("9"));
    copy.run();
    copy.set("n", "8");
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), [""; 0]);
    copy.run();
    assert_eq!(copy.get("n"), Some("9"));
    // What ends behind 40 comes on top.
    copy.set("other", "v");
    copy.set("n", "10");
    copy.assert_rests();
    assert_eq!(copy.get("n"), Some("10"));
}

#[test]
fn value_by_words_puts_away_a_read_that_is_under_way() {
    let mut copy = Copy::new();
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    copy.set("n", "new");
    copy.run();
    copy.read("n", 10, has("old"));
    copy.assert_rests();
    assert_eq!(copy.get("n"), Some("new"));
    // An increment behind it is not in the old answer either.
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    copy.set("n", "5");
    copy.changed(&["n"]);
    copy.read("n", 30, has("stale"));
    copy.run();
    assert_eq!(copy.get("n"), Some("5"));
    assert_eq!(copy.reads(), ["n"]);
    copy.read("n", 50, has("6"));
    copy.assert_rests();
    assert_eq!(copy.get("n"), Some("6"));
}

#[test]
fn going_on_from_an_earlier_point_counts_nothing_twice() {
    let mut copy = Copy::new();
    copy.set("n", "1");
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    copy.read("n", 20, has("2"));
    copy.assert_rests();
    // It breaks off with a resume point of before both, and the source has counted on.
    copy.planner = Planner::new([0], 0, 0);
    copy.at = 0;
    copy.set("n", "1");
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    copy.read("n", 30, has("3"));
    copy.run();
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), [""; 0]);
    copy.assert_rests();
    assert_eq!(copy.get("n"), Some("3"));
}

#[test]
fn rename_is_two_keys() {
    let mut copy = Copy::new();
    copy.set("a", "v");
    copy.run();
    copy.changed(&["a", "b"]);
    assert_eq!(copy.reads(), ["a", "b"]);
    copy.read("a", 20, ReadOutcome::Absent);
    assert_eq!(copy.planner.low_water(), 10);
    copy.read("b", 20, has("v"));
    copy.assert_rests();
    assert_eq!((copy.get("a"), copy.get("b")), (None, Some("v")));
}

#[test]
fn flush_takes_what_was_before_it_and_nothing_behind_it() {
    let mut copy = Copy::new();
    copy.set("a", "1");
    copy.run();
    copy.set("b", "2");
    copy.flush();
    copy.set("c", "3");
    copy.assert_rests();
    assert_eq!(
        (copy.get("a"), copy.get("b"), copy.get("c")),
        (None, None, Some("3"))
    );
}

#[test]
fn flush_waits_for_what_is_under_way() {
    let mut copy = Copy::new();
    copy.set("a", "1");
    let under_way = copy.planner.poll_action();
    assert_eq!(under_way, Some(PlannedAction::Change(place("a"), set("1"))));
    copy.flush();
    copy.set("a", "2");
    assert_eq!(copy.planner.poll_action(), None);
    copy.planner.on_done(&place("a"));
    assert_eq!(copy.planner.poll_action(), Some(PlannedAction::Flush(0)));
    assert_eq!(copy.planner.poll_action(), None);
    assert_eq!(copy.planner.low_water(), 10);
    copy.planner.on_flushed();
    copy.assert_rests();
    assert_eq!(copy.get("a"), Some("2"));
}

#[test]
fn value_that_was_read_ahead_of_a_flush_is_read_again() {
    let mut copy = Copy::new();
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    // At 30 the source has flushed, at 20, and counted anew.
    copy.read("n", 30, has("1"));
    copy.run();
    copy.flush();
    copy.run();
    assert_eq!(copy.get("n"), None);
    assert_eq!(copy.reads(), ["n"]);
    copy.read("n", 30, has("1"));
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), [""; 0]);
    copy.assert_rests();
    assert_eq!(copy.get("n"), Some("1"));
}

#[test]
fn answer_from_before_a_flush_does_not_stay() {
    let mut copy = Copy::new();
    copy.changed(&["n"]);
    assert_eq!(copy.reads(), ["n"]);
    copy.flush();
    copy.run();
    copy.read("n", 10, has("1"));
    copy.run();
    assert_eq!(copy.reads(), ["n"]);
    copy.read("n", 20, ReadOutcome::Absent);
    copy.assert_rests();
    assert_eq!(copy.get("n"), None);
}

#[test]
fn of_one_key_one_change_is_under_way_and_the_last_one_waits() {
    let mut copy = Copy::new();
    copy.set("a", "1");
    assert!(copy.planner.poll_action().is_some());
    copy.set("a", "2");
    copy.set("a", "3");
    let key = b"a".to_vec();
    copy.command(|it, start, end| it.on_change(start, end, key, KeyChange::ExpireAt(99)));
    assert_eq!(copy.planner.poll_action(), None);
    assert_eq!(copy.planner.low_water(), 0);
    copy.planner.on_done(&place("a"));
    assert_eq!(copy.planner.low_water(), 20);
    let last = KeyChange::Set {
        value: RdbValue::String(b"3".to_vec()),
        expires_at: Some(99),
    };
    assert_eq!(
        copy.planner.poll_action(),
        Some(PlannedAction::Change(place("a"), last))
    );
    copy.planner.on_done(&place("a"));
    copy.assert_rests();
}

#[test]
fn resume_point_knows_the_database_of_its_commands() {
    let mut planner = Planner::new([0, 2], 0, 0);
    planner.on_change(0, 10, b"a".to_vec(), set("1"));
    planner.on_end(10);
    planner.on_select(20, 2);
    planner.on_change(20, 30, b"a".to_vec(), set("2"));
    planner.on_end(30);
    planner.on_select(40, 7);
    planner.on_change(40, 50, b"a".to_vec(), set("3"));
    planner.on_end(50);
    assert_eq!((planner.low_water(), planner.low_water_database()), (0, 0));
    let first = planner.poll_action();
    let second = planner.poll_action();
    assert!(first.is_some() && second.is_some());
    planner.on_done(&place("a"));
    assert_eq!((planner.low_water(), planner.low_water_database()), (20, 2));
    planner.on_done(&KeyPlace {
        database: 2,
        key: b"a".to_vec(),
    });
    assert_eq!((planner.low_water(), planner.low_water_database()), (50, 7));
    assert_eq!(planner.unmapped(), &BTreeMap::from([(7, 1)]));
}

/// Random schedules against a source that is a map: values, increments, removals, renames and flushes, reads at any moment
/// between the stream's position and the source's, and breaks with a resume point.
#[test]
fn target_becomes_the_source_by_every_schedule() {
    for seed in 0..400 {
        Schedule::new(seed).run();
    }
}

struct Schedule {
    random: u64,
    /// What the source was behind each command.
    states: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
    commands: Vec<Command>,
}

#[derive(Clone, Debug)]
enum Command {
    Set(&'static str, u64),
    Add(&'static str),
    Delete(&'static str),
    Rename(&'static str, &'static str),
    Flush,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        Self {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            states: vec![BTreeMap::new()],
            commands: Vec::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn key(&mut self) -> &'static str {
        ["a", "b", "c"][self.below(3) as usize]
    }

    fn write(&mut self) {
        let key = self.key();
        let command = match self.below(12) {
            0..=3 => Command::Set(key, self.below(100)),
            4..=7 => Command::Add(key),
            8 | 9 => Command::Delete(key),
            10 => Command::Rename(key, self.key()),
            _ => Command::Flush,
        };
        let mut state = self.states.last().unwrap().clone();
        let number = |state: &BTreeMap<Vec<u8>, Vec<u8>>, key: &str| {
            let text = state
                .get(key.as_bytes())
                .cloned()
                .unwrap_or_else(|| b"0".to_vec());
            String::from_utf8(text).unwrap().parse::<u64>().unwrap()
        };
        match &command {
            Command::Set(key, value) => {
                state.insert(key.as_bytes().to_vec(), value.to_string().into_bytes());
            }
            Command::Add(key) => {
                let sum = number(&state, key) + 1;
                state.insert(key.as_bytes().to_vec(), sum.to_string().into_bytes());
            }
            Command::Delete(key) => {
                state.remove(key.as_bytes());
            }
            Command::Rename(from, to) => match state.remove(from.as_bytes()) {
                Some(value) => {
                    state.insert(to.as_bytes().to_vec(), value);
                }
                // A rename of nothing is refused, and is not in the stream.
                None => return,
            },
            Command::Flush => state.clear(),
        }
        self.states.push(state);
        self.commands.push(command);
    }

    fn run(&mut self) {
        let mut copy = Copy::new();
        let mut taken = 0;
        let mut reading: Vec<KeyPlace> = Vec::new();
        let mut flying: Vec<PlannedAction> = Vec::new();
        for _ in 0..300 {
            match self.below(8) {
                0 | 1 => self.write(),
                2 | 3 if taken < self.commands.len() => {
                    match self.commands[taken].clone() {
                        Command::Set(key, value) => copy.set(key, &value.to_string()),
                        Command::Add(key) => copy.changed(&[key]),
                        Command::Delete(key) => copy.delete(key),
                        Command::Rename(from, to) => copy.changed(&[from, to]),
                        Command::Flush => copy.flush(),
                    }
                    taken += 1;
                }
                4 => reading.extend(copy.planner.poll_reads(2)),
                5 if !reading.is_empty() => {
                    let at = self.below(reading.len() as u64) as usize;
                    self.answer(&mut copy, reading.swap_remove(at));
                }
                6 => flying.extend(copy.planner.poll_action()),
                7 if !flying.is_empty() => {
                    let at = self.below(flying.len() as u64) as usize;
                    land(&mut copy, flying.swap_remove(at));
                }
                _ => {}
            }
            if self.below(60) == 0 {
                // It breaks off. What was under way may be at the target or not; reads are forgotten.
                for action in flying.drain(..) {
                    if self.below(2) == 0 {
                        land(&mut copy, action);
                    }
                }
                reading.clear();
                copy.at = copy.planner.low_water();
                taken = (copy.at / 10) as usize;
                copy.planner = Planner::new([0], copy.at, 0);
            }
        }
        while taken < self.commands.len()
            || !reading.is_empty()
            || copy.planner.pending() > 0
            || !flying.is_empty()
        {
            if taken < self.commands.len() {
                match self.commands[taken].clone() {
                    Command::Set(key, value) => copy.set(key, &value.to_string()),
                    Command::Add(key) => copy.changed(&[key]),
                    Command::Delete(key) => copy.delete(key),
                    Command::Rename(from, to) => copy.changed(&[from, to]),
                    Command::Flush => copy.flush(),
                }
                taken += 1;
            }
            reading.extend(copy.planner.poll_reads(10));
            for place in std::mem::take(&mut reading) {
                self.answer(&mut copy, place);
            }
            for action in std::mem::take(&mut flying) {
                land(&mut copy, action);
            }
            flying.extend(copy.planner.poll_action());
        }
        copy.assert_rests();
        assert_eq!(
            &copy.target,
            self.states.last().unwrap(),
            "{:?}",
            self.commands
        );
    }

    /// The source answers by what it is now.
    fn answer(&mut self, copy: &mut Copy, place: KeyPlace) {
        let value = self.states.last().unwrap().get(&place.key);
        let outcome = match value {
            Some(value) => ReadOutcome::Value {
                value: RdbValue::String(value.clone()),
                expires_at: None,
            },
            None => ReadOutcome::Absent,
        };
        let offset = 10 * self.commands.len() as u64;
        copy.planner.on_read(place, offset, outcome);
    }
}

fn land(copy: &mut Copy, action: PlannedAction) {
    match action {
        PlannedAction::Change(place, change) => {
            match change {
                KeyChange::Set { value, .. } => {
                    copy.target.insert(place.key.clone(), bytes_of(value));
                }
                KeyChange::Delete => {
                    copy.target.remove(&place.key);
                }
                KeyChange::ExpireAt(_) | KeyChange::Persist | KeyChange::Execute(_) => {}
            }
            copy.planner.on_done(&place);
        }
        PlannedAction::Flush(_) => {
            copy.target.clear();
            copy.planner.on_flushed();
        }
    }
}
