use super::*;
use mio::{Poll, Token};

fn mesh(count: usize) -> (Vec<Poll>, Vec<Endpoint<u32>>) {
    let polls: Vec<Poll> = (0..count).map(|_| Poll::new().expect("a poll")).collect();
    let wakers: Arc<[Waker]> = polls
        .iter()
        .map(|poll| Waker::new(poll.registry(), Token(0)).expect("a waker"))
        .collect();
    (polls, endpoints(&wakers))
}

#[test]
fn batches_arrive_in_order_from_each_sender() {
    let (_polls, mut ends) = mesh(3);
    ends[0].send(BrickId(2), 1);
    ends[0].send(BrickId(2), 2);
    ends[1].send(BrickId(2), 3);
    assert!(!ends[2].has_incoming());
    ends[0].flush();
    ends[1].flush();
    assert!(ends[2].has_incoming());
    let got: Vec<_> = std::iter::from_fn(|| ends[2].poll_incoming()).collect();
    assert_eq!(got, [(BrickId(0), 1), (BrickId(0), 2), (BrickId(1), 3)]);
    assert!(ends[0].poll_incoming().is_none());
}

#[test]
fn full_ring_backs_up_and_nothing_overtakes() {
    let (_polls, mut ends) = mesh(2);
    let count = RING_BATCHES as u32 + 10;
    for number in 0..count {
        ends[0].send(BrickId(1), number);
        ends[0].flush();
    }
    assert!(ends[0].is_backed_up());
    let mut got = Vec::new();
    while got.len() < count as usize {
        got.extend(std::iter::from_fn(|| ends[1].poll_incoming()).map(|(_, number)| number));
        ends[0].flush();
    }
    assert!(!ends[0].is_backed_up());
    assert_eq!(got, (0..count).collect::<Vec<_>>());
}

#[test]
fn sleeping_reader_is_woken_and_busy_one_is_not_missed() {
    let (mut polls, mut ends) = mesh(2);
    let mut events = mio::Events::with_capacity(4);
    let wakers = Arc::clone(&ends[0].wakers);
    wakers[1].fall_asleep();
    assert!(!ends[1].has_incoming());
    ends[0].send(BrickId(1), 7);
    ends[0].flush();
    polls[1]
        .poll(&mut events, Some(std::time::Duration::from_secs(10)))
        .expect("polled");
    assert!(!events.is_empty(), "the sleeper was not woken");
    assert_eq!(ends[1].poll_incoming(), Some((BrickId(0), 7)));
}
