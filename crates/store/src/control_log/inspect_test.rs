use super::super::ControlLog;
use super::super::control_log_test::{DIRECTORY, begun, entry, hard_state};
use super::*;
use crate::mem_disk::MemDisk;

/// A closed log: a snapshot, and entries of two terms behind it.
fn log() -> (MemDisk, ControlState) {
    let disk = MemDisk::new(1);
    let mut state = begun();
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &state).unwrap();
    for (index, term) in [(12, 4), (13, 4), (14, 5)] {
        log.append(Some(hard_state(index, 11)), &[entry(index, term)])
            .unwrap();
        assert!(state.take(vec![entry(index, term)]));
        state.hard_state = hard_state(index, 11);
    }
    log.close().unwrap();
    (disk, state)
}

fn report(disk: &MemDisk) -> ControlReport {
    let report = inspect_control_log(disk, Some(DIRECTORY), PageCache::Intact);
    report.unwrap().unwrap()
}

#[test]
fn sound_log_is_told_with_its_terms() {
    let (disk, state) = log();
    let report = report(&disk);
    assert!(report.is_sound());
    assert_eq!(report.state, state);
    assert_eq!((report.torn_tail, report.is_unsure), (None, false));
    assert_eq!(report.leftover, None);
    let terms = report.terms();
    let last = ControlTerm {
        term: 5,
        first: 14,
        last: 14,
    };
    assert_eq!(terms.last(), Some(&last));
    assert_eq!(terms.first().unwrap().first, state.entries[0].index);
    // Whoever does not know the directory sees the same.
    let anyones = inspect_control_log(&disk, None, PageCache::Intact);
    assert_eq!(anyones.unwrap().unwrap(), report);
}

#[test]
fn directory_without_a_log_has_no_report() {
    let disk = MemDisk::new(1);
    let report = inspect_control_log(&disk, Some(DIRECTORY), PageCache::Intact);
    assert_eq!(report.unwrap(), None);
}

#[test]
fn every_flipped_byte_is_damage_at_or_before_it() {
    let (disk, state) = log();
    let sound = disk.content("control").unwrap();
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        let file = disk.open("control", Access::ReadWrite).unwrap();
        crate::disk::DiskFile::write_all_at(&file, &bytes, 0).unwrap();
        let report = report(&disk);
        let offset = report.damage.and_then(|damage| damage.offset());
        assert!(
            offset.is_some_and(|offset| offset <= at as u64),
            "byte {at}: told at {offset:?}"
        );
        // What stands before it is told all the same.
        let entries = &report.state.entries;
        assert!(state.entries.starts_with(entries), "byte {at}: {entries:?}");
    }
}

#[test]
fn torn_tail_and_leftovers_are_told_and_left() {
    let (disk, _) = log();
    let mut log = ControlLog::open(disk.clone(), DIRECTORY, PageCache::Intact)
        .unwrap()
        .unwrap()
        .log;
    log.append(None, &[entry(15, 5)]).unwrap();
    let len = disk.content("control").unwrap().len() as u64;
    let file = disk.open("control", Access::ReadWrite).unwrap();
    crate::disk::DiskFile::set_len(&file, len - 3).unwrap();
    drop(disk.create("control.tmp").unwrap());
    drop(disk.create("control.unsure").unwrap());
    let before = disk.content("control").unwrap();
    let report = report(&disk);
    let (from, rest) = report.torn_tail.unwrap();
    assert_eq!(from + rest, len - 3);
    assert!(report.is_sound() && report.is_unsure);
    assert_eq!(report.leftover.as_deref(), Some("control.tmp"));
    assert_eq!(report.terms().last().unwrap().last, 14);
    assert_eq!(disk.content("control").unwrap(), before);
}
