use super::*;
use crate::config::{LogConfig, PageCache};
use crate::fixture::{Log, config, put};
use crate::mem_disk::{Fault, MemDisk};

fn exists(disk: &MemDisk, name: &str) -> bool {
    disk.content(name).is_some()
}

#[test]
fn full_segments_are_sealed_at_the_next_sync() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    let before = disk.content("000001.seg").unwrap().len();
    log.sync();
    let after = disk.content("000001.seg").unwrap();
    assert!(after.len() > before);
    assert!(after.ends_with(b"BRKYSEAL"));
    assert_eq!(log.ends.syncer.synced(), log.ends.appender.end());
}

#[test]
fn failed_sync_poisons_all_ends_and_leaves_word_for_the_next_start() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 3);
    disk.inject(Fault::SyncFails { after: 0 });
    let end = log.ends.appender.end();
    let poisoned = log.ends.syncer.sync(end).unwrap_err();
    assert!(
        poisoned.to_string().contains("cannot sync 000001.seg"),
        "{poisoned}"
    );
    disk.heal();
    // The next sync would succeed and prove nothing.
    assert_eq!(log.ends.syncer.sync(end), Err(poisoned.clone()));
    assert_eq!(
        log.ends.syncer.delete_segments(&[SegmentId(9)]),
        Err(poisoned)
    );
    assert!(log.append(&put(1, 9, b"k", b"v")).is_err());

    assert!(exists(&disk, file_name::UNSURE));
    drop(log);
    let log = Log::open(&disk, config());
    assert_eq!(log.ops(), [1, 2, 3]);
    assert!(
        !exists(&disk, file_name::UNSURE),
        "all that was found is synced now"
    );
}

#[test]
fn what_a_failed_sync_has_lost_is_written_again_before_it_is_trusted() {
    let maybe_lost = LogConfig {
        page_cache: PageCache::MaybeLost,
        ..config()
    };
    let all: Vec<u64> = (1..=40).collect();
    // Every sync on the way fails once: of records, of the directory, of footers.
    for after in 0.. {
        for seed in 0..5 {
            let disk = MemDisk::new(seed);
            let mut log = Log::open(&disk, config());
            log.fill(1, 40);
            disk.inject(Fault::SyncFails { after });
            let end = log.ends.appender.end();
            if log.ends.syncer.sync(end).is_ok() {
                assert!(after > 5, "several segments were full");
                return;
            }
            disk.heal();
            drop(log);
            assert_eq!(Log::open(&disk, config()).ops(), all);
            disk.power_cut();
            let log = Log::open(&disk, maybe_lost.clone());
            assert_eq!(log.ops(), all, "seed {seed}, sync {after} failed");
            assert_eq!(log.report().damages, [], "seed {seed}, sync {after} failed");
        }
    }
}

#[test]
fn full_disk_only_delays_a_seal() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    let used: usize = disk
        .list()
        .unwrap()
        .iter()
        .map(|name| disk.content(name).unwrap().len())
        .sum();
    disk.inject(Fault::Full {
        capacity: used as u64 + 20,
    });
    log.sync();
    assert!(!disk.content("000001.seg").unwrap().ends_with(b"BRKYSEAL"));
    disk.heal();
    log.sync();
    assert!(disk.content("000001.seg").unwrap().ends_with(b"BRKYSEAL"));
    drop(log);
    let log = Log::open(&disk, config());
    assert_eq!(log.ops(), (1..=40).collect::<Vec<_>>());
    assert!(log.report().damages.is_empty());
}

#[test]
fn deleted_segment_is_gone_for_good() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let positions = log.fill(1, 40);
    log.sync();
    log.write_hints();
    assert!(exists(&disk, "000001.hint"));
    log.ends.syncer.delete_segments(&[SegmentId(1)]).unwrap();
    disk.power_cut();
    assert!(!exists(&disk, "000001.seg") && !exists(&disk, "000001.hint"));
    let left = positions
        .iter()
        .filter(|position| position.segment > SegmentId(1));
    assert_eq!(Log::open(&disk, config()).ops().len(), left.count());
}

#[test]
fn one_sync_covers_many_deletes_and_a_power_cut_keeps_their_order() {
    for seed in 0..30 {
        let disk = MemDisk::new(seed);
        let mut log = Log::open(&disk, config());
        log.fill(1, 40);
        log.sync();
        // The sync fails, so the cut may come before all of them, after all, or between.
        disk.inject(Fault::SyncFails { after: 0 });
        let segments = [SegmentId(1), SegmentId(2), SegmentId(3)];
        log.ends.syncer.delete_segments(&segments).unwrap_err();
        disk.heal();
        disk.power_cut();
        let left = segments.map(|segment| exists(&disk, &file_name::segment(segment)));
        assert!(left.is_sorted(), "{left:?}");
    }
    let (disk, _) = Log::<MemDisk>::sealed();
    let mut log = Log::open(&disk, config());
    disk.inject(Fault::SyncFails { after: 1 });
    let segments = [SegmentId(1), SegmentId(2), SegmentId(3)];
    log.ends.syncer.delete_segments(&segments).unwrap();
    disk.power_cut();
    assert!(segments.iter().all(|segment| {
        !exists(&disk, &file_name::segment(*segment)) && !exists(&disk, &file_name::hint(*segment))
    }));
}

#[test]
fn room_of_a_deleted_segment_is_given_back_once_its_name_is_gone_for_good() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    log.sync();
    log.ends.syncer.delete_segments(&[SegmentId(1)]).unwrap();
    let mut job = log.ends.syncer.take_free_job().expect("a job");
    assert!(!exists(&disk, "000001.seg"));
    assert!(!job.step(), "it is a short one");
    assert!(log.ends.syncer.take_free_job().is_none());

    disk.inject(Fault::SyncFails { after: 0 });
    log.ends
        .syncer
        .delete_segments(&[SegmentId(2)])
        .unwrap_err();
    assert!(
        log.ends.syncer.take_free_job().is_none(),
        "a power cut may bring it back"
    );
}

#[test]
#[should_panic(expected = "deleted before it is sealed")]
fn active_segment_cannot_be_deleted() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let _ = log.ends.syncer.delete_segments(&[SegmentId(1)]);
}

#[test]
#[should_panic(expected = "before segment 2 was handed over")]
fn position_ahead_of_its_segment_is_a_bug() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let _ = log.ends.syncer.sync(Position {
        segment: SegmentId(2),
        offset: 64,
    });
}

#[test]
fn hint_job_of_a_deleted_segment_leaves_nothing_behind() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    log.sync();
    let job = log.ends.syncer.take_hint_job().unwrap();
    assert_eq!(job.ranges().len(), 1);
    log.ends.syncer.delete_segments(&[job.segment()]).unwrap();
    assert!(job.run().is_err());
    assert!(!exists(&disk, "000001.hint"));
}

#[test]
fn failed_sync_of_a_full_segment_is_that_segments() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    disk.inject(Fault::SyncFails { after: 0 });
    let end = log.ends.appender.end();
    let poisoned = log.ends.syncer.sync(end).unwrap_err();
    let text = poisoned.to_string();
    assert!(text.contains("cannot sync 000001.seg"), "{text}");
}

#[test]
fn segment_that_cannot_be_deleted_poisons_the_log() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    log.sync();
    disk.inject(Fault::Dies { after: 0 });
    let poisoned = log.ends.syncer.delete_segments(&[SegmentId(1)]);
    let text = poisoned.unwrap_err().to_string();
    assert!(text.contains("cannot delete"), "{text}");
}
