use super::*;

const fn id(id: u32) -> SegmentId {
    SegmentId(id)
}

/// Segments 1, 2, ... of 1000 bytes, with so many of them live; the active one comes after.
fn log(live: &[u64]) -> (LiveBytes, SegmentId) {
    let mut bytes = LiveBytes::new();
    for (index, live) in live.iter().enumerate() {
        let segment = id(index as u32 + 1);
        bytes.add(segment, 1000);
        bytes.remove(segment, 1000 - live);
    }
    (bytes, id(live.len() as u32 + 1))
}

#[test]
fn nothing_to_clean_in_an_empty_or_live_log() {
    assert_eq!(LiveBytes::new().pick(id(1), &PickPolicy::default()), None);
    let (bytes, active) = log(&[1000, 900, 1000]);
    assert_eq!(bytes.pick(active, &PickPolicy::default()), None);
}

#[test]
fn emptiest_of_the_same_age_and_oldest_of_the_same_use_go_first() {
    let (bytes, active) = log(&[400, 400, 400]);
    assert_eq!(bytes.pick(active, &PickPolicy::default()), Some(id(1)));
    let (bytes, active) = log(&[900, 50, 900]);
    let policy = PickPolicy {
        dead_share_min: 0.2,
        ..PickPolicy::default()
    };
    assert_eq!(bytes.pick(active, &policy), Some(id(2)));
}

#[test]
fn cold_segment_is_worth_cleaning_at_higher_use_than_a_hot_one() {
    // Age 10 and 60 % live against age 1 and 30 % live: 10 * 0.4 / 1.6 > 1 * 0.7 / 1.3.
    let mut live = vec![1000; 10];
    live[0] = 600;
    live[9] = 300;
    let (bytes, active) = log(&live);
    let policy = PickPolicy {
        dead_share_min: 0.05,
        ..PickPolicy::default()
    };
    assert_eq!(bytes.pick(active, &policy), Some(id(1)));
}

#[test]
fn many_tombstones_force_the_oldest() {
    let (mut bytes, active) = log(&[1000, 100, 1000]);
    bytes.add_tombstone(id(3), 500);
    assert_eq!(bytes.pick(active, &PickPolicy::default()), Some(id(1)));
}

#[test]
fn full_disk_takes_whatever_gives_back_anything() {
    let (bytes, active) = log(&[1000, 990, 1000]);
    let policy = PickPolicy {
        is_urgent: true,
        ..PickPolicy::default()
    };
    assert_eq!(bytes.pick(active, &policy), Some(id(2)));
}

#[test]
fn damaged_and_active_segments_stay() {
    let (mut bytes, active) = log(&[0, 0]);
    bytes.pin(id(1));
    assert_eq!(bytes.pick(active, &PickPolicy::default()), Some(id(2)));
    assert_eq!(bytes.pick(id(2), &PickPolicy::default()), None);
    bytes.forget(id(2));
    assert_eq!(bytes.pick(active, &PickPolicy::default()), None);
}
