use super::*;
use crate::config::PageCache;
use crate::damage::Part;
use crate::fixture::{Log, config, put};
use crate::mem_disk::MemDisk;
use crate::{LogConfig, Tainted};
use brickyard_types::{Op, PartitionId, SegmentId};

fn log() -> (MemDisk, Vec<Position>) {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let positions = log.fill(1, 40);
    log.sync();
    log.write_hints();
    (disk, positions)
}

fn reports(disk: &MemDisk) -> (Vec<SegmentReport>, InspectSummary) {
    let mut reports = Vec::new();
    let summary = inspect(disk, &mut |report| reports.push(report)).unwrap();
    (reports, summary)
}

#[test]
fn sound_log_is_told_segment_by_segment() {
    let (disk, _) = log();
    let (reports, summary) = reports(&disk);
    assert!(summary.is_sound(), "{reports:?}");
    assert_eq!((summary.segments, summary.records), (4, 40));
    for (index, report) in reports.iter().enumerate() {
        let is_sealed = index < 3;
        assert_eq!(report.segment, SegmentId(index as u32 + 1));
        assert_eq!(report.is_sealed, is_sealed);
        let expected = if is_sealed {
            HintState::Sound
        } else {
            HintState::Missing
        };
        assert_eq!(report.hint, expected);
        assert_eq!(report.ranges[0].records, report.records);
        assert_eq!(report.header.unwrap().1, config().brick);
    }
}

/// Goal: no byte of the directory can rot unnoticed. Method: flip each, one at a time.
#[test]
fn any_flipped_byte_of_any_file_is_found() {
    let (disk, _) = log();
    for name in disk.list().unwrap() {
        for at in 0..disk.content(&name).unwrap().len() {
            let rotten = disk.fork(2);
            rotten.flip(&name, at, 0x08);
            let before = rotten.content(&name);
            let (reports, summary) = reports(&rotten);
            let is_torn = reports.iter().any(|report| report.torn_tail.is_some());
            assert!(
                !summary.is_sound() || is_torn,
                "{name} byte {at}: {reports:?}"
            );
            assert_eq!(rotten.content(&name), before, "looking changes nothing");
        }
    }
}

#[test]
fn hint_of_something_else_is_found() {
    let (disk, _) = log();
    // The same records under other (view, op)s: every checksum is right.
    let mut content = disk.content("000002.hint").unwrap();
    content[64 + 20] += 1;
    let crc = crc32fast::hash(&content[64..]);
    content[20..24].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&content[..60]);
    content[60..64].copy_from_slice(&crc.to_le_bytes());
    disk.put("000002.hint", &content);
    let (reports, summary) = reports(&disk);
    assert_eq!(summary.hints_wrong, 1);
    assert_eq!(
        reports[1].hint.to_string(),
        "wrong: it says something else than its segment"
    );
}

#[test]
fn torn_tail_is_cut_on_request() {
    let (disk, positions) = log();
    let content = disk.content("000004.seg").unwrap();
    disk.put(
        "000004.seg",
        &[&content[..], b"not a record at all"].concat(),
    );
    assert_eq!(repair_torn_tail(&log().0).unwrap(), None);
    let cut = repair_torn_tail(&disk).unwrap().unwrap();
    assert_eq!((cut.at.offset as usize, cut.len), (content.len(), 19));
    let log = Log::open(&disk, config());
    assert_eq!(log.seen.len(), positions.len());
    assert!(log.report().damages.is_empty());
}

#[test]
fn discarding_says_what_is_lost_then_keeps_the_rest() {
    let (disk, positions) = log();
    let damaged = positions[2];
    disk.flip("000001.seg", damaged.offset as usize + 50, 1);
    let before = disk.content("000001.seg");
    let plan = plan_discard(&disk, SegmentId(1)).unwrap().unwrap();
    let text = plan.to_string();
    assert!(text.starts_with("segment 1: "), "{text}");
    assert!(text.contains("lost: partition 1 op 3\n"), "{text}");
    assert_eq!(plan.damages[0].tainted, Tainted::Op(PartitionId(1), Op(3)));
    assert_eq!(disk.content("000001.seg"), before, "a plan changes nothing");

    let kept = plan.records_kept;
    let done = plan.apply().unwrap();
    assert_eq!(
        (done.original.as_str(), done.records),
        ("000001.damaged", kept)
    );
    assert_eq!(disk.content("000001.damaged"), before);
    assert!(reports(&disk).1.is_sound());
    assert_eq!(plan_discard(&disk, SegmentId(1)).unwrap().map(|_| ()), None);
    let log = Log::open(&disk, config());
    let expected: Vec<u64> = (1..=40).filter(|op| *op != 3).collect();
    assert_eq!(log.ops(), expected);
    assert!(log.report().damages.is_empty());
}

#[test]
fn damaged_header_is_restored_from_another_segment() {
    let (disk, _) = log();
    disk.flip("000002.seg", 33, 1);
    let plan = plan_discard(&disk, SegmentId(2)).unwrap().unwrap();
    assert!(plan.to_string().ends_with("no record is lost"));
    plan.apply().unwrap();
    let log = Log::open(&disk, config());
    assert_eq!(log.seen.len(), 40);
    assert!(log.report().damages.is_empty());
}

#[test]
fn discarding_in_an_unsealed_segment_seals_it() {
    let disk = MemDisk::new(1);
    let wide = || LogConfig {
        segment_bytes: 1 << 20,
        page_cache: PageCache::Intact,
        ..config()
    };
    let positions = Log::open(&disk, wide()).fill(1, 5);
    disk.flip("000001.seg", positions[1].offset as usize, 1);
    let plan = plan_discard(&disk, SegmentId(1)).unwrap().unwrap();
    assert_eq!(plan.damages[0].part, Part::Record);
    plan.apply().unwrap();
    let mut log = Log::open(&disk, wide());
    assert_eq!(log.ops(), [1, 3, 4, 5]);
    let next = log.append(&put(1, 6, b"k", b"v")).unwrap();
    assert_eq!(next.start.segment, SegmentId(2));
}

#[test]
fn zeros_ahead_of_a_logs_end_are_sound() {
    let disk = MemDisk::new(1);
    let config = LogConfig {
        segment_bytes: 1 << 20,
        runway_bytes: 3_000,
        runway_syncs_min: 2,
        ..config()
    };
    let mut log = Log::open(&disk, config);
    for op in 1..=40 {
        log.append(&put(1, op, b"k", b"v")).unwrap();
        log.sync();
    }
    let len = disk.content("000001.seg").unwrap().len();
    assert!(len > log.ends.appender.end().offset as usize);
    let (reports, summary) = reports(&disk);
    assert!(reports[0].damages.is_empty(), "{:?}", reports[0]);
    assert_eq!((reports[0].records, reports[0].torn_tail), (40, None));
    assert_eq!(summary.records, 40);
}

#[test]
fn unknown_segment_is_an_error() {
    let error = plan_discard(&log().0, SegmentId(9)).unwrap_err();
    assert_eq!(error.to_string(), "there is no segment 9 in this directory");
}
