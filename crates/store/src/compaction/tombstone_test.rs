use super::*;

const fn id(id: u32) -> SegmentId {
    SegmentId(id)
}

#[test]
fn stays_while_an_older_segment_may_hold_its_key() {
    assert!(!is_droppable(id(5), None, Some(id(4))));
    assert!(!is_droppable(id(9), Some(id(5)), Some(id(3))));
}

#[test]
fn goes_with_the_oldest_segment() {
    assert!(is_droppable(id(5), None, Some(id(6))));
    assert!(is_droppable(id(5), None, None));
}

#[test]
fn moved_one_goes_once_its_first_home_and_all_before_are_gone() {
    // Written in 5, moved to 9: segments 6 to 8 cannot hold what it hides.
    assert!(is_droppable(id(9), Some(id(5)), Some(id(6))));
    assert!(!is_droppable(id(9), Some(id(5)), Some(id(5))));
}
