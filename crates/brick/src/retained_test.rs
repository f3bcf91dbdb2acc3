use super::*;

const P: PartitionId = PartitionId(7);

fn baseline(level: u64) -> Level {
    (1, level)
}

fn append(retained: &mut Retained, batch: u64, level: u64) {
    retained.append(BatchId(batch), (P, Mark::Baseline), baseline(level), 100);
}

fn kept(retained: &Retained, segment: u32) -> Kept {
    retained.kept(SegmentId(segment), SegmentId(1), 0)
}

#[test]
fn mark_stands_where_its_batch_was_appended() {
    let mut retained = Retained::default();
    append(&mut retained, 1, 5);
    let is_said = |retained: &Retained, behind, level| {
        retained.is_said_behind(SegmentId(behind), (P, Mark::Baseline), baseline(level))
    };
    assert!(!is_said(&retained, 0, 5), "the log does not have it yet");
    retained.on_appended(BatchId(1), SegmentId(3));
    assert!(is_said(&retained, 2, 5));
    assert!(is_said(&retained, 2, 4));
    assert!(!is_said(&retained, 2, 6), "it says less");
    assert!(!is_said(&retained, 3, 5), "it goes with that segment");
    assert!(!retained.is_said_behind(SegmentId(2), (P, Mark::Watermark), baseline(5)));
}

#[test]
fn mark_that_was_refused_says_nothing() {
    let mut retained = Retained::default();
    append(&mut retained, 1, 5);
    append(&mut retained, 2, 6);
    retained.on_refused(BatchId(2));
    retained.on_appended(BatchId(3), SegmentId(1));
    assert!(retained.is_said_behind(SegmentId(0), (P, Mark::Baseline), baseline(5)));
    assert!(!retained.is_said_behind(SegmentId(0), (P, Mark::Baseline), baseline(6)));
}

#[test]
fn newer_mark_makes_the_older_one_dead() {
    let mut retained = Retained::default();
    append(&mut retained, 1, 5);
    retained.on_appended(BatchId(1), SegmentId(1));
    assert_eq!(kept(&retained, 1).lasting, 100);
    append(&mut retained, 2, 6);
    retained.on_appended(BatchId(2), SegmentId(2));
    assert_eq!(kept(&retained, 1).lasting, 0);
    assert_eq!(kept(&retained, 2).lasting, 100);
    retained.remove(SegmentId(1));
    retained.retain(|_| false);
    assert_eq!(kept(&retained, 2).lasting, 0);
    assert!(!retained.is_said_behind(SegmentId(1), (P, Mark::Baseline), baseline(6)));
}

/// The cleaner has moved 70 bytes of ids into a segment.
fn with_ids(segment: u32) -> Retained {
    let mut retained = Retained::default();
    let moved = Moved {
        ids: 70,
        ids_until: 1000,
        ..Moved::default()
    };
    retained.on_moved(SegmentId(segment), moved);
    retained
}

#[test]
fn ids_count_until_they_are_forgotten() {
    let retained = with_ids(2);
    let at = |now| retained.kept(SegmentId(2), SegmentId(1), now).lasting;
    assert_eq!((at(1000), at(1001)), (70, 0));
}

#[test]
fn tombstones_count_while_something_as_old_as_they_is_left() {
    let mut retained = Retained::default();
    for (origin, bytes) in [(2, 10), (4, 20)] {
        let moved = Moved {
            tombstones: BTreeMap::from([(SegmentId(origin), bytes)]),
            ..Moved::default()
        };
        retained.on_moved(SegmentId(6), moved);
    }
    let with = |oldest| {
        let kept = retained.kept(SegmentId(6), SegmentId(oldest), 0);
        kept.tombstones
    };
    assert_eq!((with(2), with(3), with(5)), (30, 20, 0));
}

#[test]
fn nothing_is_known_of_a_segment_that_is_gone() {
    let mut retained = with_ids(2);
    retained.remove(SegmentId(2));
    assert_eq!(retained.kept(SegmentId(2), SegmentId(1), 0).lasting, 0);
}
