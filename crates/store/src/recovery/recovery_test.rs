use super::*;
use crate::damage::{Part, Tainted};
use crate::disk::SECTOR_BYTES;
use crate::fixture::{Log, config, put};
use crate::mem_disk::{Fault, MemDisk};
use crate::segment::header::{DirectoryId, SEGMENT_HEADER_BYTES};
use crate::{AppendError, Purpose};
use brickyard_types::{BrickId, Op};

fn maybe_lost() -> LogConfig {
    LogConfig {
        page_cache: PageCache::MaybeLost,
        ..config()
    }
}

/// One segment that never fills.
fn wide(page_cache: PageCache) -> LogConfig {
    LogConfig {
        segment_bytes: 1 << 20,
        page_cache,
        ..config()
    }
}

#[test]
fn empty_directory_becomes_a_log() {
    let disk = MemDisk::new(1);
    let log = Log::open(&disk, config());
    assert!(log.seen.is_empty());
    assert_eq!(log.report().end.offset as usize, SEGMENT_HEADER_BYTES);
    assert_eq!(disk.list().unwrap(), ["000001.seg"]);
}

#[test]
fn reopened_log_goes_on_where_it_ended() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let mut positions = log.fill(1, 25);
    drop(log);
    let mut log = Log::open(&disk, config());
    assert_eq!(log.ops(), (1..=25).collect::<Vec<_>>());
    positions.extend(log.fill(26, 25));
    drop(log);
    let log = Log::open(&disk, config());
    assert!(log.seen.iter().map(|seen| seen.position).eq(positions));
    assert!(log.report().damages.is_empty());
    let bytes: u64 = log
        .report()
        .segments
        .iter()
        .map(|summary| summary.record_bytes)
        .sum();
    let expected: usize = log
        .seen
        .iter()
        .map(|seen| 48 + seen.key.len() + seen.value_len)
        .sum();
    assert_eq!(bytes, expected as u64);
}

/// The same with zeros ahead of its end, and records that end with zeros.
fn with_runway(disk: &MemDisk) -> (Log, Vec<u64>) {
    let config = LogConfig {
        runway_bytes: 3_000,
        runway_syncs_min: 2,
        ..wide(PageCache::Intact)
    };
    let mut log = Log::open(disk, config);
    for op in 1..=40 {
        log.append(&put(1, op, b"k", &[0; 30])).unwrap();
        log.sync();
    }
    let len = disk.content("000001.seg").unwrap().len();
    let end = log.report().end;
    assert!(len > log.ends.appender.end().offset as usize + 100, "{end}");
    (log, (1..=40).collect())
}

#[test]
fn zeros_ahead_of_the_end_are_no_damage_and_are_cut() {
    for page_cache in [PageCache::Intact, PageCache::MaybeLost] {
        let disk = MemDisk::new(1);
        let (log, ops) = with_runway(&disk);
        let end = log.ends.appender.end();
        drop(log);
        let mut log = Log::open(&disk, wide(page_cache));
        assert_eq!(log.ops(), ops);
        assert_eq!(log.report().end, end);
        assert!(log.report().damages.is_empty());
        assert!(log.report().torn.is_none());
        assert!(!disk.list().unwrap().contains(&"torn".to_owned()));
        let len = disk.content("000001.seg").unwrap().len();
        assert_eq!(len, end.offset as usize);
        log.append(&put(1, 41, b"k", b"next")).unwrap();
        log.sync();
        assert_eq!(Log::open(&disk, wide(page_cache)).ops().len(), 41);
    }
}

#[test]
fn record_that_a_dying_process_wrote_half_over_zeros_is_cut() {
    let disk = MemDisk::new(1);
    let (mut log, ops) = with_runway(&disk);
    let before = disk.content("000001.seg").unwrap();
    let torn = log.append(&put(1, 41, b"torn", &[1; 700])).unwrap();
    let after = disk.content("000001.seg").unwrap();
    assert_eq!(before.len(), after.len(), "it was written over zeros");
    let mut sectors = 0;
    for written in torn.start.offset as usize + 1..torn.end.offset as usize {
        // A process leaves whole sectors, and a power cut whatever it likes.
        let is_sector = written.is_multiple_of(SECTOR_BYTES);
        sectors += usize::from(is_sector);
        for page_cache in [PageCache::Intact, PageCache::MaybeLost] {
            let disk = disk.fork(2);
            let content = [&after[..written], &before[written..]].concat();
            disk.put("000001.seg", &content);
            let log = Log::open(&disk, wide(page_cache));
            assert_eq!(log.ops(), ops);
            if is_sector || page_cache == PageCache::MaybeLost {
                assert_eq!(log.report().torn.unwrap().at, torn.start);
                assert!(log.report().damages.is_empty(), "{written}");
            }
        }
    }
    assert!(sectors > 0, "it reaches into another sector");
}

/// Also one that ends with zeros, as those behind it are, unless they reach from one sector into the next.
#[test]
fn last_record_that_rotted_before_zeros_is_damage() {
    for last_byte in [0, 1] {
        let disk = MemDisk::new(1);
        let (mut log, ops) = with_runway(&disk);
        let last = log.append(&put(1, 41, b"k", &[last_byte; 30])).unwrap();
        drop(log);
        let sector = |offset: u32| offset as usize / SECTOR_BYTES;
        assert_eq!(sector(last.start.offset), sector(last.end.offset - 1));
        for at in last.start.offset..last.end.offset {
            let disk = disk.fork(2);
            disk.flip("000001.seg", at as usize, 0x10);
            let log = Log::open(&disk, wide(PageCache::Intact));
            assert_eq!(log.ops(), ops);
            assert!(log.report().torn.is_none(), "byte {at} rotted");
            assert_eq!(log.report().damages.len(), 1, "byte {at} rotted");
        }
    }
}

#[test]
fn segment_that_was_full_and_not_sealed_loses_its_zeros() {
    let disk = MemDisk::new(1);
    let (mut log, ops) = with_runway(&disk);
    log.ends.appender.roll().unwrap();
    drop(log);
    let log = Log::open(&disk, wide(PageCache::Intact));
    assert_eq!(log.ops(), ops);
    assert!(log.report().damages.is_empty());
    assert_eq!(log.report().resealed, [SegmentId(1)]);
    assert!(disk.content("000001.seg").unwrap().ends_with(b"BRKYSEAL"));
}

#[test]
fn tail_that_a_dying_process_tore_is_cut() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, wide(PageCache::Intact));
    let last = log.fill(1, 3)[2];
    let content = disk.content("000001.seg").unwrap();
    for end in last.offset as usize + 1..content.len() {
        for page_cache in [PageCache::Intact, PageCache::MaybeLost] {
            let torn = disk.fork(2);
            torn.put("000001.seg", &content[..end]);
            let mut log = Log::open(&torn, wide(page_cache));
            assert_eq!(log.ops(), [1, 2]);
            let cut = log.report().torn.unwrap();
            assert_eq!(
                (cut.at, cut.len),
                (last, (end - last.offset as usize) as u64)
            );
            assert_eq!(log.report().set_aside, [""; 0], "there is no record in it");
            log.append(&put(1, 3, b"k", b"again")).unwrap();
            assert_eq!(Log::open(&torn, wide(page_cache)).ops(), [1, 2, 3]);
        }
    }
}

#[test]
fn rot_in_the_last_record_is_damage_while_the_page_cache_is_intact() {
    let disk = MemDisk::new(1);
    let last = Log::open(&disk, wide(PageCache::Intact)).fill(1, 3)[2];
    let len = disk.content("000001.seg").unwrap().len() - last.offset as usize;
    for at in 0..len {
        let rotten = disk.fork(2);
        rotten.flip("000001.seg", last.offset as usize + at, 1);
        let mut log = Log::open(&rotten, wide(PageCache::Intact));
        assert_eq!(log.ops(), [1, 2]);
        let [damage] = &log.report().damages[..] else {
            panic!("byte {at}: {:?}", log.report());
        };
        assert_eq!((damage.offset, damage.len as usize), (last.offset, len));
        let known = Tainted::Op(PartitionId(1), Op(3));
        assert_eq!(damage.tainted, if at < 48 { Tainted::All } else { known });
        // New records go to a segment of their own; the evidence stays, and is found again.
        let next = log.append(&put(1, 4, b"k", b"v")).unwrap();
        assert_eq!(next.start.segment, SegmentId(2));
        let expected = log.report().damages.clone();
        log.sync();
        let log = Log::open(&rotten, wide(PageCache::Intact));
        assert_eq!(log.ops(), [1, 2, 4]);
        assert_eq!(log.report().damages, expected, "byte {at}");
    }
}

/// What rotted where nothing says that it was synced is cut like what a power cut tore: that must not be forgotten,
/// whenever the process that cuts it dies.
/// Rule `a lost log end is noted first`.
#[test]
fn end_that_is_cut_after_a_power_cut_leaves_word() {
    let disk = MemDisk::new(1);
    let last = Log::open(&disk, wide(PageCache::Intact)).fill(1, 3)[2];
    disk.flip("000001.seg", last.offset as usize + 50, 1);
    let rotten = disk.content("000001.seg").unwrap();
    for calls in 0.. {
        let dying = disk.fork(calls);
        dying.put("000001.seg", &rotten);
        dying.inject(Fault::Dies { after: calls });
        let opened = open(
            dying.clone(),
            wide(PageCache::MaybeLost),
            &|_| false,
            &mut |_| (),
        );
        let is_over = opened.is_ok();
        drop(opened);
        dying.heal();
        dying.power_cut();
        let is_cut = dying.content("000001.seg").unwrap().len() < rotten.len();
        assert!(
            !is_cut || dying.content(file_name::TORN).is_some(),
            "{calls}"
        );
        if is_over {
            assert!(is_cut);
            return;
        }
    }
}

/// Five records, of which `synced` were synced (and the next append says so); the second is unreadable.
fn hole_in_the_second(synced: u64) -> (MemDisk, Vec<Position>) {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, wide(PageCache::MaybeLost));
    let mut positions = log.fill(1, synced);
    log.sync();
    positions.extend(log.fill(synced + 1, 5 - synced));
    drop(log);
    disk.flip("000001.seg", positions[1].offset as usize + 50, 0xff);
    (disk, positions)
}

#[test]
fn power_cut_hole_behind_the_last_sync_ends_the_log() {
    let (disk, positions) = hole_in_the_second(1);
    let log = Log::open(&disk, wide(PageCache::MaybeLost));
    assert_eq!(log.ops(), [1]);
    assert!(log.report().damages.is_empty());
    let cut = log.report().torn.unwrap();
    assert_eq!((cut.at, cut.records), (positions[1], 3));
    assert_eq!(log.report().set_aside, ["000001.cut"]);
    let kept = disk.content("000001.cut").unwrap();
    let mut found = Vec::new();
    crate::scan_bytes(&kept, &mut |_, record| found.push(record.header.op.0));
    assert_eq!(found, [3, 4, 5]);
}

#[test]
fn hole_before_the_last_sync_is_damage() {
    let (disk, positions) = hole_in_the_second(3);
    let log = Log::open(&disk, wide(PageCache::MaybeLost));
    assert_eq!(log.ops(), [1, 3, 4, 5]);
    assert_eq!(log.report().torn, None);
    assert_eq!(log.report().damages[0].offset, positions[1].offset);
}

#[test]
fn hole_is_damage_while_the_page_cache_is_intact() {
    let (disk, _) = hole_in_the_second(1);
    let log = Log::open(&disk, wide(PageCache::Intact));
    assert_eq!(log.ops(), [1, 3, 4, 5]);
    assert!(log.report().torn.is_none());
    assert_eq!(log.report().damages.len(), 1);
}

#[test]
fn word_of_a_failed_sync_overrules_an_intact_page_cache() {
    let (disk, _) = hole_in_the_second(1);
    disk.put(file_name::UNSURE, b"");
    assert_eq!(Log::open(&disk, wide(PageCache::Intact)).ops(), [1]);
}

#[test]
fn mark_in_a_later_segment_counts() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, maybe_lost());
    let positions = log.fill(1, 8);
    // Nobody seals: the syncer never hears of the position in segment 2.
    assert_eq!(positions[7].segment, SegmentId(1));
    log.sync();
    let second = log.append(&put(1, 9, b"k", &[1; 1500])).unwrap();
    assert_eq!(second.start.segment, SegmentId(2));
    drop(log);
    disk.flip("000001.seg", positions[3].offset as usize + 50, 1);
    let log = Log::open(&disk, maybe_lost());
    assert_eq!(log.ops(), [1, 2, 3, 5, 6, 7, 8, 9]);
    assert_eq!(log.report().resealed, [SegmentId(1)]);
    assert_eq!(
        log.report().damages[0].tainted,
        Tainted::Op(PartitionId(1), Op(4))
    );
}

/// A process that dies tears the end of the last segment alone: a record that is short at the end of an earlier one was
/// whole once.
#[test]
fn short_record_before_another_segment_is_damage_while_the_page_cache_is_intact() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let positions = log.fill(1, 20);
    drop(log);
    let in_first = |it: &&Position| it.segment == SegmentId(1);
    let last = *positions.iter().rfind(in_first).unwrap();
    assert_ne!(Some(&last), positions.last());
    let content = disk.content("000001.seg").unwrap();
    disk.put("000001.seg", &content[..last.offset as usize + 50]);
    let log = Log::open(&disk, config());
    assert_eq!(log.ops().len(), 19, "all but the short one");
    assert!(log.report().torn.is_none());
    let damage = log.report().damages.first();
    assert_eq!(damage.map(|it| it.offset), Some(last.offset));
}

#[test]
fn tail_lost_between_two_whole_records_is_seen() {
    // The file of segment 1 ends with a whole record, but not with the last one of it.
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, maybe_lost());
    let positions = log.fill(1, 20);
    drop(log);
    let later = positions
        .iter()
        .filter(|position| position.segment > SegmentId(1))
        .count();
    assert!(later > 0);
    let content = disk.content("000001.seg").unwrap();
    disk.put("000001.seg", &content[..positions[5].offset as usize]);
    let log = Log::open(&disk, maybe_lost());
    assert_eq!(log.ops(), [1, 2, 3, 4, 5]);
    let cut = log.report().torn.unwrap();
    assert_eq!(
        (cut.at, cut.len, cut.records as usize),
        (positions[5], 0, later)
    );
    assert!(disk.content("000002.cut").is_some() && disk.content("000002.seg").is_none());
}

#[test]
fn segment_that_was_being_created_is_cleared_away() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, wide(PageCache::Intact));
    log.fill(1, 3);
    for (content, page_cache) in [
        (&b""[..], PageCache::Intact),
        (&[0x42; 63], PageCache::Intact),
        (&[0; 64], PageCache::MaybeLost),
        (&[0; 3000], PageCache::MaybeLost),
    ] {
        let disk = disk.fork(2);
        let ended = Mark::End(SegmentId(1)).encode();
        let first = [disk.content("000001.seg").unwrap(), ended.to_vec()].concat();
        disk.put("000001.seg", &first);
        disk.put("000002.seg", content);
        let mut log = Log::open(&disk, wide(page_cache));
        assert_eq!(log.ops(), [1, 2, 3]);
        assert!(log.report().damages.is_empty(), "{:?}", log.report());
        let next = log.append(&put(1, 4, b"k", b"v")).unwrap();
        log.sync();
        assert_eq!(next.start.segment, SegmentId(3));
        assert_eq!(Log::open(&disk, wide(page_cache)).ops(), [1, 2, 3, 4]);
    }
}

#[test]
fn full_but_unsealed_segments_are_sealed_again() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 40);
    drop(log);
    let log = Log::open(&disk, config());
    assert_eq!(log.ops().len(), 40);
    assert_eq!(
        log.report().resealed,
        [SegmentId(1), SegmentId(2), SegmentId(3)]
    );
    assert!(Log::open(&disk, config()).report().resealed.is_empty());
}

#[test]
fn leftovers_are_removed() {
    let (disk, _) = Log::<MemDisk>::sealed();
    disk.put("000002.hint.tmp", b"half");
    disk.put("000099.hint", b"whose?");
    disk.put("notes.txt", b"a person's");
    let log = Log::open(&disk, config());
    assert_eq!(log.report().removed, ["000002.hint.tmp", "000099.hint"]);
    assert!(disk.content("notes.txt").is_some());
}

#[test]
fn segments_of_another_directory_brick_or_name_are_refused_untouched() {
    let (disk, _) = Log::<MemDisk>::sealed();
    let mut other_directory = config();
    other_directory.directory = DirectoryId([9; 16]);
    let mut other_brick = config();
    other_brick.brick = BrickId(8);
    for config in [other_directory, other_brick] {
        let error = Log::try_open(&disk, config).err().unwrap();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }
    disk.put("000009.seg", &disk.content("000002.seg").unwrap());
    let before = disk.list().unwrap();
    let error = Log::try_open(&disk, config()).err().unwrap().to_string();
    assert!(
        error.starts_with("000009.seg belongs to directory"),
        "{error}"
    );
    assert_eq!(disk.list().unwrap(), before);
}

#[test]
fn other_format_is_refused_untouched() {
    let (disk, _) = Log::<MemDisk>::sealed();
    let mut content = disk.content("000002.seg").unwrap();
    content[8] = 2;
    let crc = crc32fast::hash(&content[..60]);
    content[60..64].copy_from_slice(&crc.to_le_bytes());
    disk.put("000002.seg", &content);
    disk.put("000009.hint.tmp", b"");
    let before = disk.list().unwrap();
    let error = Log::try_open(&disk, config()).err().unwrap().to_string();
    assert!(
        error.contains("000002.seg has format 2 and this program reads format 1 alone"),
        "{error}"
    );
    assert_eq!(disk.list().unwrap(), before);
}

#[test]
fn hints_are_read_where_no_values_are_needed() {
    let (disk, positions) = Log::<MemDisk>::sealed();
    let log = Log::open_needing(&disk, config(), &|_| false).unwrap();
    assert!(
        log.seen
            .iter()
            .map(|seen| seen.position)
            .eq(positions.clone())
    );
    let from_hints = log.seen.iter().filter(|seen| seen.value.is_none()).count();
    let sealed = positions
        .iter()
        .filter(|position| position.segment < SegmentId(4))
        .count();
    assert_eq!(
        (from_hints, log.report().records_from_hints as usize),
        (sealed, sealed)
    );
    // Some partition of every segment needs its values.
    let log = Log::open_needing(&disk, config(), &|partition| partition == PartitionId(1)).unwrap();
    assert!(log.seen.iter().all(|seen| seen.value.is_some()));
}

#[test]
fn damaged_or_missing_hint_falls_back_to_the_segment() {
    let (disk, positions) = Log::<MemDisk>::sealed();
    disk.flip("000001.hint", 100, 1);
    disk.remove("000002.hint").unwrap();
    let mut log = Log::open_needing(&disk, config(), &|_| false).unwrap();
    assert!(log.seen.iter().map(|seen| seen.position).eq(positions));
    assert_eq!(log.report().hints_damaged, [SegmentId(1)]);
    assert!(log.report().damages.is_empty());
    log.write_hints();
    let log = Log::open_needing(&disk, config(), &|_| false).unwrap();
    assert!(log.report().hints_damaged.is_empty());
    assert!(log.report().segments.len() == 4 && log.report().records_from_hints > 0);
}

/// Rule `a damaged header taints its segment`.
#[test]
fn damage_in_a_header_names_the_partitions_that_miss_something() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let mut offset = 0;
    for op in 1..40 {
        let batch = put(op as u32 % 3, op, b"key", &[1; 100]);
        let start = log.append(&batch).unwrap().start;
        if op == 5 {
            assert_eq!(start.segment, SegmentId(1));
            offset = start.offset;
        }
    }
    log.sync();
    drop(log);
    disk.flip("000001.seg", offset as usize + 2, 1);
    let log = Log::open(&disk, config());
    let [damage] = &log.report().damages[..] else {
        panic!("{:?}", log.report());
    };
    assert_eq!(damage.tainted, Tainted::Partitions(vec![PartitionId(2)]));
    let message = damage.to_string();
    let expected =
        format!("segment 1 offset {offset}: 151 bytes damaged (record, header checksum is ");
    assert!(message.starts_with(&expected), "{message}");
    assert!(
        message.ends_with("lost: operations of partitions 2"),
        "{message}"
    );
    assert!(log.report().segments[0].is_damaged);
}

#[test]
fn lost_footer_of_an_old_segment_costs_no_record() {
    let (disk, positions) = Log::<MemDisk>::sealed();
    let content = disk.content("000002.seg").unwrap();
    disk.put("000002.seg", &content[..content.len() - 10]);
    let log = Log::open(&disk, config());
    assert!(log.seen.iter().map(|seen| seen.position).eq(positions));
    assert_eq!(log.report().damages.len(), 1);
    assert_eq!(log.report().damages[0].part, Part::Footer);
}

#[test]
fn clean_stop_leaves_nothing_to_doubt() {
    // Sync, mark, sync: then even the last record is known to have been synced.
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, wide(PageCache::MaybeLost));
    let last = log.fill(1, 5)[4];
    log.sync();
    log.ends.appender.mark_synced().unwrap();
    log.sync();
    drop(log);
    disk.flip("000001.seg", last.offset as usize + 50, 1);
    let log = Log::open(&disk, wide(PageCache::MaybeLost));
    assert_eq!(log.ops(), [1, 2, 3, 4]);
    assert_eq!(
        log.report().damages[0].tainted,
        Tainted::Op(PartitionId(1), Op(5))
    );
}

#[test]
fn log_on_the_real_disk() {
    let directory = tempfile::tempdir().unwrap();
    let disk = crate::OsDisk::open(directory.path()).unwrap();
    let mut log = Log::open(&disk, config());
    for op in 1..=40 {
        log.append(&put(1, op, b"key", &[op as u8; 100])).unwrap();
    }
    log.sync();
    log.write_hints();
    let sealed = disk
        .list()
        .unwrap()
        .iter()
        .filter(|name| name.ends_with(".hint"))
        .count();
    assert!(sealed > 2);
    log.ends.syncer.delete_segments(&[SegmentId(1)]).unwrap();
    drop(log);
    let log = Log::open(&disk, config());
    assert_eq!(log.ops().last(), Some(&40));
    assert_eq!(log.report().segments[0].segment, SegmentId(2));
    assert!(log.report().damages.is_empty());
    assert!(disk.space().unwrap().free > 0);
}

#[test]
fn ends_are_for_three_threads() {
    fn is_send<T: Send>(_: &T) {}
    let Opened {
        mut appender,
        mut syncer,
        reader,
        ..
    } = Log::open(&MemDisk::new(1), config()).ends;
    is_send(&reader);
    let syncing = std::thread::spawn(move || {
        let batch = put(1, 1, b"k", &[0; 100]);
        for _ in 0..100 {
            match appender.append(&batch, Purpose::Store) {
                Ok(_) | Err(AppendError::DiskFull { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        let rolled: Vec<_> = std::iter::from_fn(|| appender.take_rolled()).collect();
        (rolled, appender.end())
    });
    let (rolled, end) = syncing.join().unwrap();
    rolled
        .into_iter()
        .for_each(|rolled| syncer.add_rolled(rolled));
    syncer.sync(end).unwrap();
    assert_eq!(syncer.synced(), end);
}

/// What ends a segment is written once, whoever seals it.
#[test]
fn segment_that_another_process_seals_is_the_same_to_the_byte() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    log.fill(1, 20);
    assert!(disk.content("000002.seg").is_some());
    let other = disk.fork(1);
    log.sync();
    let mut log = Log::open(&other, config());
    log.sync();
    assert_eq!(disk.content("000001.seg"), other.content("000001.seg"));
}

#[test]
fn each_segment_is_damaged_by_its_own_damages() {
    let (disk, _) = Log::sealed();
    for name in ["000001.seg", "000003.seg"] {
        disk.flip(name, SEGMENT_HEADER_BYTES + 60, 1);
        disk.remove(&name.replace("seg", "hint")).unwrap();
    }
    let log = Log::open(&disk, config());
    let damaged: Vec<bool> = log
        .report()
        .segments
        .iter()
        .map(|it| it.is_damaged)
        .collect();
    assert_eq!(damaged, [true, false, true, false], "{:?}", log.report());
}

/// A footer says what its segment lacks also when the next process has sealed it.
#[test]
fn damage_is_found_again_after_its_segment_was_sealed() {
    let disk = MemDisk::new(1);
    let first = Log::open(&disk, wide(PageCache::Intact)).fill(1, 3)[0];
    disk.flip("000001.seg", first.offset as usize + 50, 1);
    let mut log = Log::open(&disk, wide(PageCache::Intact));
    let damages = log.report().damages.clone();
    assert_eq!((log.ops(), damages.len()), (vec![2, 3], 1));
    log.append(&put(1, 4, b"k", b"v")).unwrap();
    log.roll().unwrap();
    log.sync();
    log.write_hints();
    drop(log);
    let log = Log::open(&disk, wide(PageCache::Intact));
    assert_eq!(log.ops(), [2, 3, 4]);
    assert_eq!(log.report().damages, damages);
    assert!(log.report().segments[0].is_damaged);
}

/// A file of a whole step and a byte: the last one is written again as well.
#[test]
fn all_that_may_be_lost_is_written_again_to_the_last_byte() {
    let room = (1 << 20) + 1 - SEGMENT_HEADER_BYTES - put(1, 1, b"k", b"").len();
    let disk = MemDisk::new(1);
    let large = LogConfig {
        segment_bytes: 4 << 20,
        ..config()
    };
    let mut log = Log::open(&disk, large.clone());
    log.append(&put(1, 1, b"k", &vec![7; room])).unwrap();
    assert_eq!(disk.content("000001.seg").unwrap().len(), (1 << 20) + 1);
    disk.inject(Fault::SyncFails { after: 0 });
    let end = log.ends.appender.end();
    assert!(log.ends.syncer.sync(end).is_err());
    disk.heal();
    drop(log);
    assert_eq!(Log::open(&disk, large.clone()).ops(), [1]);
    for seed in 0..8 {
        let disk = disk.fork(seed);
        disk.power_cut();
        let lost = LogConfig {
            page_cache: PageCache::MaybeLost,
            ..large.clone()
        };
        assert_eq!(Log::open(&disk, lost).ops(), [1], "seed {seed}");
    }
}
