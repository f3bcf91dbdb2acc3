use super::*;
use crate::mem_disk::{Fault, MemDisk};
use crate::os_disk::OsDisk;

pub(super) const DIRECTORY: DirectoryId = DirectoryId(*b"fixture-fixture-");

pub(super) fn entry(index: u64, term: u64) -> ControlEntry {
    ControlEntry {
        index,
        term,
        kind: (index % 3) as u8,
        data: vec![term as u8; (index % 40) as usize],
    }
}

pub(super) fn hard_state(term: u64, commit: u64) -> ControlHardState {
    ControlHardState {
        term,
        vote: term % 4,
        commit,
    }
}

/// What a log begins with: a snapshot at 10, and entry 11.
pub(super) fn begun() -> ControlState {
    ControlState {
        hard_state: hard_state(3, 10),
        snapshot: Some(ControlSnapshot {
            index: 10,
            term: 2,
            voters: vec![1, 2],
            learners: vec![7],
            data: b"state".to_vec(),
        }),
        entries: vec![entry(11, 3)],
    }
}

pub(super) fn open(disk: &MemDisk, page_cache: PageCache) -> ControlOpened<MemDisk> {
    ControlLog::open(disk.clone(), DIRECTORY, page_cache)
        .unwrap()
        .unwrap()
}

fn create(disk: &MemDisk) -> ControlLog<MemDisk> {
    ControlLog::create(disk.clone(), DIRECTORY, &begun()).unwrap()
}

/// Writes, and keeps what should be there.
fn write<D: Disk>(log: &mut ControlLog<D>, state: &mut ControlState) {
    for (term, indexes) in [(4, 12..15), (5, 13..14), (6, 14..17)] {
        let entries: Vec<_> = indexes.map(|index| entry(index, term)).collect();
        log.append(Some(hard_state(term, 11)), &entries).unwrap();
        assert!(state.take(entries));
        state.hard_state = hard_state(term, 11);
    }
    log.append(None, &[entry(17, 6)]).unwrap();
    assert!(state.take(vec![entry(17, 6)]));
    log.append(Some(hard_state(6, 16)), &[]).unwrap();
    state.hard_state = hard_state(6, 16);
    log.append(None, &[]).unwrap();
}

#[test]
fn what_is_written_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let disk = OsDisk::open(directory.path()).unwrap();
    let open = || ControlLog::open(disk.clone(), DIRECTORY, PageCache::Intact).unwrap();
    assert!(open().is_none());
    let mut state = begun();
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &state).unwrap();
    write(&mut log, &mut state);
    log.sync().unwrap();
    for _ in 0..3 {
        let opened = open().unwrap();
        assert_eq!(opened.state, state);
        assert_eq!(opened.cut_bytes, 0);
        opened.log.close().unwrap();
    }
    assert_eq!(disk.list().unwrap(), ["control"]);
}

#[test]
fn a_node_that_joins_has_no_snapshot() {
    let disk = MemDisk::new(1);
    let nothing = ControlState::default();
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &nothing).unwrap();
    log.append(Some(hard_state(9, 0)), &[entry(1, 9)]).unwrap();
    let opened = open(&disk, PageCache::Intact);
    assert_eq!(opened.state.hard_state, hard_state(9, 0));
    assert_eq!(opened.state.entries, [entry(1, 9)]);
    assert_eq!(opened.state.snapshot, None);
}

#[test]
fn nothing_of_the_log_before_a_snapshot_stays() {
    let disk = MemDisk::new(1);
    let mut log = create(&disk);
    write(&mut log, &mut begun());
    let long = log.byte_len();
    let mut state = ControlState {
        hard_state: hard_state(8, 20),
        snapshot: Some(ControlSnapshot {
            index: 20,
            ..ControlSnapshot::default()
        }),
        entries: vec![],
    };
    log.replace(&state).unwrap();
    assert!(log.byte_len() < long);
    log.append(None, &[entry(21, 8)]).unwrap();
    assert!(state.take(vec![entry(21, 8)]));
    assert_eq!(open(&disk, PageCache::Intact).state, state);
}

#[test]
fn a_log_is_made_once() {
    let disk = MemDisk::new(1);
    create(&disk);
    let again = ControlLog::create(disk.clone(), DIRECTORY, &ControlState::default());
    assert!(matches!(again, Err(ControlLogError::Exists { .. })));
    assert_eq!(open(&disk, PageCache::Intact).state, begun());
}

#[test]
fn failed_sync_ends_the_log() {
    for syncs in 0..3 {
        let disk = MemDisk::new(1);
        let mut log = create(&disk);
        disk.inject(Fault::SyncFails { after: syncs });
        let mut done = log.append(None, &[entry(12, 3)]);
        // The second and third are the new file's and the directory's.
        done = done.and_then(|()| log.sync());
        done = done.and_then(|()| log.replace(&begun()));
        let error = done.unwrap_err();
        assert!(matches!(error, ControlLogError::Poisoned(_)), "{error}");
        disk.heal();
        let later = log.append(None, &[entry(12, 3)]).unwrap_err();
        assert_eq!(later.to_string(), error.to_string());
        assert!(log.sync().is_err() && log.replace(&begun()).is_err());
        assert!(log.close().is_err());
    }
}

#[test]
fn full_disk_refuses_and_nothing_of_it_comes_back() {
    for room in 0..200 {
        let disk = MemDisk::new(room);
        let mut log = create(&disk);
        let mut state = begun();
        disk.inject(Fault::Full {
            capacity: log.byte_len() + room,
        });
        let more: Vec<_> = (12..24).map(|index| entry(index, 4)).collect();
        let refused = log.append(Some(hard_state(4, 11)), &more);
        assert!(matches!(refused, Err(ControlLogError::Full { .. })));
        let refused = log.replace(&state);
        assert!(matches!(refused, Err(ControlLogError::Full { .. })));
        assert_eq!(disk.list().unwrap(), ["control"]);
        // A node can start with a full disk.
        let mut opened = open(&disk, PageCache::MaybeLost);
        assert_eq!(opened.state, state);
        disk.heal();
        opened.log.append(None, &[entry(12, 5)]).unwrap();
        opened.log.sync().unwrap();
        disk.power_cut();
        assert!(state.take(vec![entry(12, 5)]));
        assert_eq!(open(&disk, PageCache::MaybeLost).state, state);
    }
}

#[test]
fn full_disk_leaves_room_for_a_while() {
    let disk = MemDisk::new(1);
    disk.let_room_be_kept();
    let mut log = create(&disk);
    let mut state = begun();
    disk.inject(Fault::Full {
        capacity: log.byte_len(),
    });
    let begin = log.byte_len();
    while log.byte_len() < begin + ROOM_AHEAD / 2 {
        let next = state.entries.last().map_or(12, |it| it.index + 1);
        let entry = ControlEntry {
            data: vec![1; 5000],
            ..entry(next, 4)
        };
        log.append(None, std::slice::from_ref(&entry)).unwrap();
        assert!(state.take(vec![entry]));
    }
    let refused = log.append(
        None,
        &[ControlEntry {
            data: vec![1; ROOM_AHEAD as usize],
            ..entry(1000, 4)
        }],
    );
    assert!(matches!(refused, Err(ControlLogError::Full { .. })));
    log.sync().unwrap();
    disk.power_cut();
    assert_eq!(open(&disk, PageCache::MaybeLost).state, state);
}

#[test]
fn a_write_that_cannot_be_undone_ends_the_log() {
    let disk = MemDisk::new(1);
    let mut log = create(&disk);
    disk.inject(Fault::Full {
        capacity: log.byte_len() + 5,
    });
    disk.inject(Fault::SetLenFails);
    let error = log.append(None, &[entry(12, 3)]).unwrap_err();
    assert!(matches!(error, ControlLogError::Poisoned(_)), "{error}");
}

#[test]
fn what_an_earlier_process_failed_to_sync_is_synced_when_opened() {
    let disk = MemDisk::new(3);
    let mut log = create(&disk);
    log.append(Some(hard_state(9, 11)), &[]).unwrap();
    disk.inject(Fault::SyncFails { after: 0 });
    assert!(log.sync().is_err());
    disk.heal();
    assert_eq!(open(&disk, PageCache::Intact).state.hard_state.term, 9);
    disk.power_cut();
    assert_eq!(open(&disk, PageCache::MaybeLost).state.hard_state.term, 9);
}

#[test]
fn what_an_earlier_process_failed_to_sync_is_synced_when_opened_with_a_full_disk() {
    for seed in 0..10 {
        let disk = MemDisk::new(seed);
        let mut log = create(&disk);
        log.append(Some(hard_state(9, 11)), &[]).unwrap();
        disk.inject(Fault::SyncFails { after: 0 });
        assert!(log.sync().is_err());
        disk.heal();
        disk.inject(Fault::Full {
            capacity: log.byte_len(),
        });
        assert_eq!(open(&disk, PageCache::Intact).state.hard_state.term, 9);
        disk.heal();
        disk.power_cut();
        assert_eq!(open(&disk, PageCache::MaybeLost).state.hard_state.term, 9);
    }
}

#[test]
fn what_a_failed_sync_lost_from_memory_is_a_torn_tail() {
    let disk = MemDisk::new(3);
    let mut log = create(&disk);
    log.append(Some(hard_state(9, 11)), &[]).unwrap();
    log.sync().unwrap();
    let synced = disk.content(NAME).unwrap().len();
    log.append(Some(hard_state(10, 11)), &[]).unwrap();
    disk.inject(Fault::SyncFails { after: 0 });
    assert!(log.sync().is_err());
    disk.heal();
    // The kernel drops pages that it could not write: what is read is what the disk has.
    let mut bytes = disk.content(NAME).unwrap();
    bytes[synced..].fill(0);
    disk.put(NAME, &bytes);
    assert_eq!(open(&disk, PageCache::Intact).state.hard_state.term, 9);
    assert!(disk.content(UNSURE).is_none());
}

#[test]
fn sync_that_fails_while_a_refused_write_is_taken_back_leaves_word_as_well() {
    let disk = MemDisk::new(3);
    let mut log = create(&disk);
    log.append(Some(hard_state(9, 11)), &[]).unwrap();
    log.sync().unwrap();
    let synced = disk.content(NAME).unwrap().len();
    log.append(Some(hard_state(10, 11)), &[]).unwrap();
    disk.inject(Fault::Full {
        capacity: log.byte_len(),
    });
    disk.inject(Fault::SyncFails { after: 0 });
    let error = log.append(Some(hard_state(11, 11)), &[]).unwrap_err();
    assert!(matches!(error, ControlLogError::Poisoned(_)), "{error}");
    disk.heal();
    let mut bytes = disk.content(NAME).unwrap();
    bytes[synced..].fill(0);
    disk.put(NAME, &bytes);
    assert_eq!(open(&disk, PageCache::Intact).state.hard_state.term, 9);
}

#[test]
fn what_cannot_be_synced_does_not_take_the_place_of_what_was() {
    let disk = MemDisk::new(3);
    let mut log = create(&disk);
    log.append(Some(hard_state(9, 11)), &[]).unwrap();
    log.sync().unwrap();
    let before = disk.content(NAME);
    disk.inject(Fault::SyncFails { after: 0 });
    let error = log.replace(&begun()).unwrap_err();
    assert!(matches!(error, ControlLogError::Poisoned(_)), "{error}");
    assert_eq!(disk.content(NAME), before);
}

#[test]
fn what_is_read_with_a_full_disk_is_synced() {
    let disk = MemDisk::new(2);
    let mut log = create(&disk);
    log.append(Some(hard_state(9, 11)), &[]).unwrap();
    disk.inject(Fault::Full {
        capacity: log.byte_len(),
    });
    assert_eq!(open(&disk, PageCache::Intact).state.hard_state.term, 9);
    disk.heal();
    for _ in 0..10 {
        disk.power_cut();
    }
    assert_eq!(open(&disk, PageCache::MaybeLost).state.hard_state.term, 9);
}

/// It is written where it was, whatever there is room for.
#[test]
fn what_a_failed_sync_may_have_lost_is_written_again_though_the_disk_is_full() {
    let disk = MemDisk::new(2);
    let mut log = create(&disk);
    log.append(Some(hard_state(9, 11)), &[]).unwrap();
    log.sync().unwrap();
    disk.put(UNSURE, b"");
    let before = disk.content(NAME);
    disk.inject(Fault::Full {
        capacity: log.byte_len(),
    });
    assert_eq!(open(&disk, PageCache::Intact).state.hard_state.term, 9);
    assert_eq!(disk.content(NAME), before);
}

#[test]
fn log_that_cannot_be_looked_at_is_not_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(NAME);
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let disk = OsDisk::open(directory.path()).unwrap();
    let error = ControlLog::create(disk, DIRECTORY, &begun()).unwrap_err();
    assert!(matches!(error, ControlLogError::Io { .. }), "{error}");
}
