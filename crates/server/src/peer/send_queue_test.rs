//! Order and bounds of what waits for a connection.

use super::*;

fn take(queue: &SendQueue) -> Option<Vec<u8>> {
    queue.waiting.borrow_mut().pop()
}

#[test]
fn urgent_frames_overtake() {
    let queue = SendQueue::default();
    queue.push(vec![1], Urgency::Normal);
    queue.push(vec![2], Urgency::High);
    queue.push(vec![3], Urgency::Normal);
    assert_eq!(
        [take(&queue), take(&queue), take(&queue)],
        [Some(vec![2]), Some(vec![1]), Some(vec![3])]
    );
    assert_eq!(take(&queue), None);
}

#[test]
fn closed_queue_gives_nothing_more() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let queue = SendQueue::default();
    queue.push(vec![1], Urgency::Normal);
    queue.close();
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(pin!(queue.next()).poll(&mut context), Poll::Ready(None));
}

#[test]
fn oldest_is_dropped_and_one_long_frame_always_fits() {
    let queue = SendQueue::default();
    for number in 0..FRAMES_MAX + 2 {
        queue.push(vec![number as u8, (number >> 8) as u8], Urgency::Normal);
    }
    assert_eq!(take(&queue), Some(vec![2, 0]));
    queue.push(vec![0; BYTES_MAX + 1], Urgency::Normal);
    assert_eq!(take(&queue).map(|frame| frame.len()), Some(BYTES_MAX + 1));
    assert_eq!(take(&queue), None);
}
