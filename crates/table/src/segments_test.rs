use super::*;

#[test]
fn number_is_given_again_when_no_record_carries_it() {
    let mut segments = Segments::new();
    assert_eq!(segments.number(SegmentId(0)), Ok(0));
    for id in 1..200_000 {
        let number = segments.number(SegmentId(id)).unwrap();
        assert_eq!(segments.id(number), SegmentId(id));
        segments.add(number, 100);
        segments.subtract(number, 100);
    }
    assert!(segments.segments.len() < 4);
    assert_eq!(segments.live().count(), 0);
}

#[test]
fn live_bytes_are_by_segment() {
    let mut segments = Segments::new();
    let first = segments.number(SegmentId(7)).unwrap();
    segments.add(first, 10);
    let second = segments.number(SegmentId(3)).unwrap();
    segments.add(second, 5);
    segments.add(first, 1);
    segments.subtract(first, 10);
    assert!(segments.live().eq([(SegmentId(3), 5), (SegmentId(7), 1)]));
    assert_eq!(segments.number(SegmentId(7)), Ok(first));
}

#[test]
fn segments_are_full_at_65536_and_give_way_again() {
    let mut segments = Segments::new();
    let mut numbers = Vec::new();
    for id in 1..=65_535 {
        let number = segments.number(SegmentId(id)).unwrap();
        segments.add(number, 1);
        numbers.push(number);
    }
    assert_eq!(segments.number(SegmentId(70_000)), Err(Full::Segments));
    segments.subtract(numbers[5], 1);
    assert_eq!(segments.number(SegmentId(70_000)), Ok(numbers[5]));
}
