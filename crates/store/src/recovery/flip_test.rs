//! Goal: whatever byte of the log rots, it is found where it is, and nothing false is ever yielded.
//! Method: flip every byte of every segment, one at a time.

use crate::config::{LogConfig, PageCache};
use crate::damage::Part;
use crate::file_name;
use crate::fixture::{Log, Seen, config};
use crate::mem_disk::MemDisk;
use brickyard_types::SegmentId;

#[test]
fn any_flipped_byte_is_found_where_it_is_and_nothing_false_is_yielded() {
    let (disk, _) = Log::<MemDisk>::sealed();
    let sound = Log::open(&disk.fork(2), config()).seen;
    for page_cache in [PageCache::Intact, PageCache::MaybeLost] {
        for segment in 1..=4 {
            let id = SegmentId(segment);
            let name = file_name::segment(id);
            for at in 0..disk.content(&name).unwrap().len() {
                let rotten = disk.fork(3);
                rotten.flip(&name, at, 1 << (at % 8));
                let config = LogConfig {
                    page_cache,
                    ..config()
                };
                let log = Log::open(&rotten, config);
                check_flip(&log, &sound, id, at as u32, page_cache);
            }
        }
    }
}

fn check_flip(log: &Log, sound: &[Seen], segment: SegmentId, at: u32, page_cache: PageCache) {
    let what = format!(
        "segment {segment} byte {at} {page_cache:?}: {:?}",
        log.report()
    );
    let mut lost: Vec<_> = sound.iter().collect();
    lost.retain(|record| !log.seen.contains(record));
    assert_eq!(
        log.seen.len() + lost.len(),
        sound.len(),
        "something false was yielded: {what}"
    );
    let damages = &log.report().damages;
    let found = damages.iter().find(|damage| {
        let end = damage.offset + damage.len;
        damage.segment == segment && (damage.offset..end).contains(&at)
    });
    let Some(damage) = found else {
        // What no mark says was synced may be taken for a tear, and a torn footer is written again.
        let is_torn = log
            .report()
            .torn
            .is_some_and(|cut| cut.at.segment == segment && cut.at.offset <= at);
        let is_resealed = log.report().resealed.contains(&segment);
        assert!(
            page_cache == PageCache::MaybeLost && (is_torn || is_resealed && lost.is_empty()),
            "{what}"
        );
        return;
    };
    assert_eq!(damages.len(), 1, "{what}");
    assert!(lost.len() <= 1, "one byte, {} records: {what}", lost.len());
    for record in lost {
        assert_eq!(damage.part, Part::Record, "{what}");
        assert!(damage.taints(record.header.partition), "{what}");
        assert_eq!(record.position.offset, damage.offset, "{what}");
    }
}

/// Two wrong bytes of a header are beyond mending: the record is lost, and its partition is known to lack something.
/// Rule `a damaged header taints its segment`.
#[test]
fn header_beyond_mending_costs_its_record() {
    let (disk, _) = Log::<MemDisk>::sealed();
    let sound = Log::open(&disk.fork(2), config()).seen;
    for record in &sound {
        let name = file_name::segment(record.position.segment);
        let at = record.position.offset as usize;
        let rotten = disk.fork(3);
        rotten.flip(&name, at + 24, 1);
        rotten.flip(&name, at + 33, 1);
        let log = Log::open(&rotten, config());
        let offset = record.position.offset;
        check_flip(
            &log,
            &sound,
            record.position.segment,
            offset,
            PageCache::Intact,
        );
        assert!(!log.seen.contains(record), "{record:?}");
    }
}

/// One wrong byte costs nothing, but of a record without a body.
#[test]
fn header_with_one_wrong_byte_costs_nothing() {
    let (disk, _) = Log::<MemDisk>::sealed();
    let sound = Log::open(&disk.fork(2), config()).seen;
    let mut mended = 0;
    for record in &sound {
        let name = file_name::segment(record.position.segment);
        let rotten = disk.fork(3);
        rotten.flip(&name, record.position.offset as usize + 33, 0x40);
        let log = Log::open(&rotten, config());
        mended += usize::from(log.seen == sound);
        assert_eq!(log.report().damages.len(), 1, "it is told all the same");
    }
    assert!(mended > sound.len() / 2, "{mended} of {}", sound.len());
}
