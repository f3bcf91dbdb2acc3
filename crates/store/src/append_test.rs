use super::*;
use crate::fixture::{Log, config, put};
use crate::mem_disk::{Fault, MemDisk};

fn big_segments() -> LogConfig {
    LogConfig {
        segment_bytes: 1 << 20,
        ..config()
    }
}

#[test]
fn batch_starts_behind_the_last_one() {
    let mut log = Log::open(&MemDisk::new(1), big_segments());
    let batch = [put(1, 1, b"a", b"one"), put(2, 1, b"b", b"two")].concat();
    let first = log.append(&batch).unwrap();
    let second = log.append(&put(1, 2, b"a", b"three")).unwrap();
    assert_eq!(first.start.offset as usize, SEGMENT_HEADER_BYTES);
    assert_eq!(
        first.end.offset as usize,
        SEGMENT_HEADER_BYTES + batch.len()
    );
    assert_eq!(second.start, first.end);
    assert_eq!(log.ends.appender.end(), second.end);
}

#[test]
fn batch_never_spans_segments() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let batch = [put(1, 1, b"a", &[1; 700]), put(1, 2, b"b", &[2; 700])].concat();
    let first = log.append(&batch).unwrap();
    let second = log.append(&batch).unwrap();
    assert_eq!(first.end.segment, SegmentId(1));
    assert_eq!(
        (second.start.segment, second.start.offset),
        (SegmentId(2), 64)
    );
    let file = disk.content("000001.seg").unwrap();
    assert_eq!(
        file.len(),
        first.end.offset as usize + MARK_BYTES,
        "records, then the end mark"
    );
}

#[test]
fn batch_larger_than_a_segment_gets_its_own() {
    let mut log = Log::open(&MemDisk::new(1), config());
    log.append(&put(1, 1, b"a", b"small")).unwrap();
    let large = log.append(&put(1, 2, b"b", &[2; 10_000])).unwrap();
    let after = log.append(&put(1, 3, b"c", b"small")).unwrap();
    assert_eq!(
        (large.start.segment, large.start.offset),
        (SegmentId(2), 64)
    );
    assert_eq!(after.start.segment, SegmentId(3));
}

#[test]
fn first_batch_after_a_sync_is_preceded_by_a_mark() {
    let mut log = Log::open(&MemDisk::new(1), big_segments());
    let first = log.append(&put(1, 1, b"a", b"")).unwrap();
    log.sync();
    let second = log.append(&put(1, 2, b"a", b"")).unwrap();
    let third = log.append(&put(1, 3, b"a", b"")).unwrap();
    assert_eq!(
        second.start.offset as usize,
        first.end.offset as usize + MARK_BYTES
    );
    assert_eq!(third.start, second.end);
}

#[test]
fn full_disk_takes_back_what_was_written_and_goes_on_when_there_is_room() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, big_segments());
    let first = log.append(&put(1, 1, b"a", b"kept")).unwrap();
    // Room for the first record of the batch and a part of the second.
    disk.inject(Fault::Full {
        capacity: u64::from(first.end.offset) + 150,
    });
    let batch = [put(1, 2, b"a", b"refused"), put(1, 3, b"a", &[0; 200])].concat();
    // The guard would refuse before the write does; it is not asked while it has a budget.
    let error = log.append(&batch).unwrap_err();
    assert!(matches!(error, AppendError::DiskFull { .. }), "{error}");
    log.ends.appender.space.budget = u64::MAX;
    let error = log.append(&batch).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("disk full: 305 bytes were needed and 150 are free"),
        "{message}"
    );
    assert_eq!(
        disk.content("000001.seg").unwrap().len(),
        first.end.offset as usize
    );

    // Not even a power cut brings the first record of the batch back.
    disk.power_cut();
    assert_eq!(Log::open(&disk.fork(2), big_segments()).ops(), [1]);
    disk.heal();
    let again = log.append(&put(1, 2, b"a", b"written")).unwrap();
    assert_eq!(again.start, first.end);
}

#[test]
fn full_disk_at_a_roll_is_survived() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let batch = put(1, 1, b"a", &[1; 1500]);
    let first = log.append(&batch).unwrap();
    for room in [
        0,
        20,
        MARK_BYTES,
        MARK_BYTES + 30,
        MARK_BYTES + SEGMENT_HEADER_BYTES,
    ] {
        disk.inject(Fault::Full {
            capacity: u64::from(first.end.offset) + room as u64,
        });
        log.ends.appender.space.budget = u64::MAX;
        let error = log.append(&batch).unwrap_err();
        assert!(matches!(error, AppendError::DiskFull { .. }), "{error}");
    }
    disk.heal();
    let second = log.append(&put(1, 2, b"a", &[1; 1500])).unwrap();
    assert_eq!(
        (second.start.segment, second.start.offset),
        (SegmentId(2), 64)
    );
    log.sync();
    let reopened = Log::open(&disk, config());
    assert_eq!(reopened.ops(), [1, 2]);
    assert!(reopened.report().damages.is_empty());
}

#[test]
fn next_segment_that_cannot_be_created_now_is_created_later() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.append(&put(1, 1, b"a", &[1; 1500])).unwrap();
    // The end mark is written, and creating the file fails.
    disk.inject(Fault::Dies { after: 1 });
    let batch = put(1, 2, b"a", &[1; 1500]);
    let error = log.append(&batch).unwrap_err();
    assert!(matches!(error, AppendError::NoSegment { .. }), "{error}");
    disk.heal();
    assert_eq!(log.append(&batch).unwrap().start.segment, SegmentId(2));
    assert_eq!(Log::open(&disk, config()).ops(), [1, 2]);
}

#[test]
fn segment_is_rolled_on_request_and_sealed_by_the_next_sync() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, big_segments());
    log.append(&put(1, 1, b"a", b"one")).unwrap();
    log.ends.appender.roll().unwrap();
    let rolled = log.ends.appender.take_rolled().unwrap();
    assert_eq!(rolled.segment(), SegmentId(1));
    let content = disk.content("000001.seg").unwrap();
    assert_eq!(rolled.bytes() as usize, content.len());
    log.ends.syncer.add_rolled(rolled);
    log.sync();
    assert!(disk.content("000001.seg").unwrap().ends_with(b"BRKYSEAL"));
    let next = log.append(&put(1, 2, b"a", b"two")).unwrap();
    assert_eq!(next.start.segment, SegmentId(2));
    assert_eq!(Log::open(&disk, big_segments()).ops(), [1, 2]);
}

#[test]
fn segment_without_records_is_not_rolled() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, big_segments());
    log.roll().unwrap();
    assert_eq!(log.ends.appender.end().segment, SegmentId(1));
    log.append(&put(1, 1, b"a", b"one")).unwrap();
    log.roll().unwrap();
    log.sync();
    // A mark alone is nothing to seal either.
    log.ends.appender.mark_synced().unwrap();
    assert!(log.ends.appender.end().offset as usize > SEGMENT_HEADER_BYTES);
    log.roll().unwrap();
    assert_eq!(log.ends.appender.end().segment, SegmentId(2));
}

#[test]
fn segment_with_records_of_an_earlier_run_is_rolled() {
    let disk = MemDisk::new(1);
    Log::open(&disk, big_segments())
        .append(&put(1, 1, b"a", b"one"))
        .unwrap();
    let mut log = Log::open(&disk, big_segments());
    log.roll().unwrap();
    assert_eq!(log.ends.appender.end().segment, SegmentId(2));
}

#[test]
fn roll_on_a_full_disk_changes_nothing_or_is_made_up_for_later() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, big_segments());
    let first = log.append(&put(1, 1, b"a", b"one")).unwrap();
    disk.inject(Fault::Full {
        capacity: u64::from(first.end.offset) + MARK_BYTES as u64,
    });
    log.ends.appender.space.budget = 0;
    let error = log.roll().unwrap_err();
    assert!(matches!(error, AppendError::DiskFull { .. }), "{error}");
    assert_eq!(log.ends.appender.end(), first.end);
    // The guard is wrong: the end is noted, and then there is no room for the next segment.
    log.ends.appender.space.budget = u64::MAX;
    let error = log.roll().unwrap_err();
    assert!(matches!(error, AppendError::DiskFull { .. }), "{error}");
    assert_eq!(Log::open(&disk.fork(2), big_segments()).ops(), [1]);
    disk.heal();
    log.roll().unwrap();
    let next = log.append(&put(1, 2, b"a", b"two")).unwrap();
    assert_eq!(next.start.segment, SegmentId(2));
    assert_eq!(Log::open(&disk, big_segments()).ops(), [1, 2]);
}

#[test]
fn failed_write_that_cannot_be_taken_back_poisons() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, big_segments());
    let first = log.append(&put(1, 1, b"a", b"kept")).unwrap();
    disk.inject(Fault::Full {
        capacity: u64::from(first.end.offset) + 10,
    });
    disk.inject(Fault::SetLenFails);
    log.ends.appender.space.budget = u64::MAX;
    let error = log.append(&put(1, 2, b"a", b"lost")).unwrap_err();
    assert!(matches!(error, AppendError::Poisoned(_)), "{error}");
    disk.heal();
    let error = log.append(&put(1, 2, b"a", b"lost")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("take back a failed write from 000001.seg"),
        "{error}"
    );
    assert!(
        log.ends.syncer.sync(first.end).is_err(),
        "the syncer hears of it"
    );
}

#[test]
fn sync_that_fails_while_a_refused_write_is_taken_back_leaves_word() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, big_segments());
    let first = log.append(&put(1, 1, b"a", b"kept")).unwrap();
    disk.inject(Fault::Full {
        capacity: u64::from(first.end.offset) + 10,
    });
    disk.inject(Fault::SyncFails { after: 0 });
    log.ends.appender.space.budget = u64::MAX;
    let error = log.append(&put(1, 2, b"a", b"lost")).unwrap_err();
    assert!(matches!(error, AppendError::Poisoned(_)), "{error}");
    assert!(disk.content(file_name::UNSURE).is_some());
}

#[test]
fn batch_that_no_segment_can_hold_is_refused() {
    let mut log = Log::open(&MemDisk::new(1), big_segments());
    let max = (SEGMENT_BYTES_MAX as u64 - FOOTER_ROOM) as usize;
    // Refused by its length alone: zeros are no record.
    let error = log.append(&vec![0; max + 1]).unwrap_err();
    assert!(matches!(error, AppendError::TooLarge { .. }), "{error}");
}

#[test]
#[should_panic(expected = "is no run of records: offset 50 holds")]
fn batch_that_could_not_be_read_is_not_written() {
    let mut log = Log::open(&MemDisk::new(1), big_segments());
    let mut batch = put(1, 1, b"a", b"b");
    batch.extend_from_slice(&[7; 60]);
    let _ = log.append(&batch);
}

#[test]
fn small_file_system_gets_small_segments_and_a_small_reserve() {
    let mib = |mib: u64| mib << 20;
    let defaults = LogConfig::new(config().brick, config().directory);
    let space = |total| Space { free: total, total };
    assert_eq!(
        effective_segment_bytes(&defaults, space(mib(1 << 20))),
        mib(64)
    );
    assert_eq!(effective_segment_bytes(&defaults, space(mib(64))), mib(2));
    assert_eq!(effective_segment_bytes(&defaults, space(mib(8))), mib(1));
    assert_eq!(
        SpaceGuard::new(&defaults, space(mib(1 << 20))).reserve,
        mib(128)
    );
    assert_eq!(SpaceGuard::new(&defaults, space(mib(64))).reserve, mib(4));
}

#[test]
fn roll_of_a_poisoned_log_is_refused() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 3);
    disk.inject(Fault::SyncFails { after: 0 });
    let end = log.ends.appender.end();
    let poisoned = log.ends.syncer.sync(end).unwrap_err();
    disk.heal();
    let Err(AppendError::Poisoned(told)) = log.roll() else {
        panic!("it goes on");
    };
    assert_eq!(told, poisoned);
    assert_eq!(disk.list().unwrap(), ["000001.seg", file_name::UNSURE]);
}

/// An attempt that found the disk full may have left it.
#[test]
fn file_that_is_in_the_way_of_the_next_segment_is_replaced() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 3);
    disk.put("000002.seg", b"left");
    log.roll().unwrap();
    let next = log.append(&put(1, 4, b"k", b"v")).unwrap();
    assert_eq!(next.start.segment, SegmentId(2));
    drop(log);
    assert_eq!(Log::open(&disk, config()).ops(), [1, 2, 3, 4]);
    // Whatever else is wrong is said.
    let mut log = Log::open(&disk, config());
    disk.put("000003.seg", b"left");
    disk.inject(Fault::Dies { after: 0 });
    assert!(log.roll().is_err());
}

fn with_runway() -> LogConfig {
    LogConfig {
        runway_bytes: 2_000,
        runway_syncs_min: 4,
        ..big_segments()
    }
}

#[test]
fn where_syncs_come_often_the_file_is_longer_than_its_records() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, with_runway());
    let mut lens = Vec::new();
    for op in 1..=60 {
        log.append(&put(1, op, b"k", b"value")).unwrap();
        log.sync();
        lens.push(disk.content("000001.seg").unwrap().len());
    }
    let changes = lens.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let end = log.ends.appender.end().offset as usize;
    // 53 bytes of a record and 48 of a mark are twenty syncs in so many bytes of runway: the first of them goes without.
    assert!(changes < 25, "{lens:?}");
    assert!(lens[59] > end, "{} bytes, of records {end}", lens[59]);
    let content = disk.content("000001.seg").unwrap();
    assert!(content[end..].iter().all(|byte| *byte == 0));
}

#[test]
fn where_syncs_are_rare_the_file_ends_with_its_records() {
    for config in [
        with_runway(),
        LogConfig {
            runway_bytes: 0,
            ..with_runway()
        },
    ] {
        let disk = MemDisk::new(1);
        let is_off = config.runway_bytes == 0;
        let mut log = Log::open(&disk, config);
        for op in 1..=100 {
            log.append(&put(1, op, b"k", &[1; 100])).unwrap();
            if is_off || op % 10 == 0 {
                log.sync();
            }
        }
        let end = log.ends.appender.end().offset as usize;
        assert_eq!(disk.content("000001.seg").unwrap().len(), end);
    }
}

#[test]
fn no_room_for_zeros_is_no_failure() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, with_runway());
    disk.inject(Fault::Full { capacity: 2_500 });
    disk.inject(Fault::SpaceUnknown);
    let mut op = 0;
    let refused = loop {
        op += 1;
        match log.append(&put(1, op, b"k", b"value")) {
            Ok(_) => log.sync(),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AppendError::DiskFull { .. }), "{refused}");
    assert!(op > 20, "{op} records are all that fits into 2,500 bytes");
    drop(log);
    disk.heal();
    let mut log = Log::open(&disk, with_runway());
    assert_eq!(log.ops(), (1..op).collect::<Vec<_>>());
    log.append(&put(1, op, b"k", b"value")).unwrap();
}

#[test]
fn full_segment_is_sealed_without_zeros() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, with_runway());
    for op in 1..=45 {
        log.append(&put(1, op, b"k", b"value")).unwrap();
        log.sync();
    }
    let end = log.ends.appender.end().offset as usize;
    let len = disk.content("000001.seg").unwrap().len();
    assert!(
        len > end + 1_000,
        "{} bytes of zeros are more than a footer",
        len - end
    );
    log.roll().unwrap();
    log.sync();
    let content = disk.content("000001.seg").unwrap();
    assert!(content.ends_with(b"BRKYSEAL"));
    assert_eq!(content[end + MARK_BYTES..][..8], *b"BRKYFOOT");
    let log = Log::open(&disk, with_runway());
    assert_eq!(log.ops(), (1..=45).collect::<Vec<_>>());
    assert!(log.report().damages.is_empty());
    assert!(log.report().resealed.is_empty());
}
