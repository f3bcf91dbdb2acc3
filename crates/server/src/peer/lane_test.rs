//! Order and bounds of what waits for a connection.

use super::*;

fn take(lane: &Lane) -> Option<Vec<u8>> {
    lane.waiting.borrow_mut().pop()
}

#[test]
fn urgent_frames_overtake() {
    let lane = Lane::default();
    lane.push(vec![1], Urgency::Normal);
    lane.push(vec![2], Urgency::High);
    lane.push(vec![3], Urgency::Normal);
    assert_eq!(
        [take(&lane), take(&lane), take(&lane)],
        [Some(vec![2]), Some(vec![1]), Some(vec![3])]
    );
    assert_eq!(take(&lane), None);
}

#[test]
fn closed_lane_gives_nothing_more() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let lane = Lane::default();
    lane.push(vec![1], Urgency::Normal);
    lane.close();
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(pin!(lane.next()).poll(&mut context), Poll::Ready(None));
}

#[test]
fn oldest_is_dropped_and_one_long_frame_always_fits() {
    let lane = Lane::default();
    for number in 0..FRAMES_MAX + 2 {
        lane.push(vec![number as u8, (number >> 8) as u8], Urgency::Normal);
    }
    assert_eq!(take(&lane), Some(vec![2, 0]));
    lane.push(vec![0; BYTES_MAX + 1], Urgency::Normal);
    assert_eq!(take(&lane).map(|frame| frame.len()), Some(BYTES_MAX + 1));
    assert_eq!(take(&lane), None);
}
