use super::*;
use crate::state;

fn context() -> GetEntriesContext {
    GetEntriesContext::empty(false)
}

fn entry(index: u64, term: u64, bytes: usize) -> LogEntry {
    LogEntry {
        index,
        term,
        kind: EntryKind::Data,
        data: vec![7; bytes],
    }
}

fn snapshot(index: u64, term: u64) -> Snapshot {
    Snapshot {
        index,
        term,
        voters: vec![1, 2],
        learners: vec![5],
        data: vec![9],
    }
}

/// A snapshot of entry 10, and entries 11 to 14, of 68 bytes each and 32 more.
fn log() -> Log {
    Log::new(RecoveredState {
        hard_state: state::HardState {
            term: 4,
            vote: 2,
            commit: 12,
        },
        snapshot: Some(snapshot(10, 3)),
        entries: (11..15).map(|index| entry(index, 4, 68)).collect(),
    })
}

#[test]
fn log_begins_as_it_was_stored() {
    let log = log();
    let RaftState { hard_state, .. } = log.initial_state().unwrap();
    let found = (hard_state.term, hard_state.vote, hard_state.commit);
    assert_eq!(found, (4, 2, 12));
    assert_eq!(
        (log.first(), log.last(), log.snapshot_index()),
        (11, 14, 10)
    );
    let empty = Log::new(RecoveredState::default());
    assert_eq!(
        (empty.first(), empty.last(), empty.snapshot_index()),
        (1, 0, 0)
    );
    assert_eq!(empty.term_at(0).unwrap(), 0);
}

#[test]
fn terms_are_known_from_the_entry_before_the_first() {
    let log = log();
    assert_eq!(log.term_at(10).unwrap(), 3);
    assert_eq!(log.term_at(11).unwrap(), 4);
    assert_eq!(log.term_at(9), Err(StorageError::Compacted));
    assert_eq!(log.term_at(15), Err(StorageError::Unavailable));
}

#[test]
fn entries_are_those_of_a_range_as_far_as_they_fit_and_one_at_least() {
    let log = log();
    let found = |low, high, bytes: Option<u64>| -> Vec<u64> {
        let entries = log.entries(low, high, bytes, context()).unwrap();
        entries.iter().map(|it| it.index).collect()
    };
    assert_eq!(found(11, 15, None), [11, 12, 13, 14]);
    assert_eq!(found(12, 14, None), [12, 13]);
    assert_eq!(found(11, 15, Some(200)), [11, 12]);
    assert_eq!(found(11, 15, Some(199)), [11]);
    assert_eq!(found(11, 15, Some(0)), [11]);
    assert!(log.entries(10, 12, None, context()).is_err());
    assert!(log.entries(11, 16, None, context()).is_err());
}

/// What follows takes the place of what was there.
#[test]
fn entries_of_another_leader_replace_those_from_their_index_on() {
    let mut log = log();
    log.append(&[entry_to_library(entry(13, 5, 1))]);
    assert_eq!(
        (
            log.last(),
            log.term_at(12).unwrap(),
            log.term_at(13).unwrap()
        ),
        (13, 4, 5)
    );
    log.append(&[]);
    assert_eq!(log.last(), 13);
}

#[test]
fn snapshot_is_given_to_members_and_missed_by_others() {
    let log = log();
    assert!(!log.take_snapshot_missing());
    for member in [1, 5] {
        assert_eq!(log.snapshot(10, member).unwrap().get_metadata().index, 10);
    }
    assert!(!log.take_snapshot_missing());
    // It is too old, or of a time when this one was no member.
    for (index, to) in [(11, 1), (10, 3)] {
        assert!(log.snapshot(index, to).is_err());
        assert!(log.take_snapshot_missing());
        assert!(!log.take_snapshot_missing(), "it is said once");
    }
}

#[test]
fn log_that_is_restored_has_nothing_but_the_snapshot() {
    let mut log = log();
    log.restore(snapshot_to_library(snapshot(40, 6)));
    assert_eq!(
        (log.first(), log.last(), log.snapshot_index()),
        (41, 40, 40)
    );
    assert_eq!(log.term_at(40).unwrap(), 6);
}

#[test]
fn log_keeps_some_entries_behind_its_own_snapshot() {
    for (kept, first) in [(0, 14), (1, 13), (2, 12), (3, 11), (99, 11)] {
        let mut log = log();
        log.compact(snapshot(13, 4), kept);
        assert_eq!(
            (log.first(), log.last(), log.snapshot_index()),
            (first, 14, 13)
        );
    }
}
