use super::*;
use brickyard_brick::BatchId;
use std::sync::Arc;

const MILLISECOND: Duration = Duration::from_millis(1);

fn batch(bytes: usize) -> Append {
    Append {
        id: BatchId(1),
        bytes: Arc::new(vec![0; bytes]),
        epoch: 0,
        sync: false,
        frees_space: false,
    }
}

fn at(millis: u64) -> Instant {
    Instant(0) + MILLISECOND * millis as u32
}

#[test]
fn short_batches_are_written_inline() {
    let appends = InlineAppends::new(100);
    assert!(appends.admit(&batch(100), at(0)));
    assert!(!appends.admit(&batch(101), at(0)));
    assert!(!InlineAppends::new(0).admit(&batch(1), at(0)));
}

#[test]
fn the_worker_has_the_next_ones_after_a_slow_one_and_longer_after_the_next_slow_one() {
    let mut appends = InlineAppends::new(100);
    appends.on_appended(at(0), 2 * MILLISECOND);
    assert!(appends.admit(&batch(1), at(2)));
    // The pause begins when it was done.
    appends.on_appended(at(10), 20 * MILLISECOND);
    assert!(!appends.admit(&batch(1), at(229)));
    assert!(appends.admit(&batch(1), at(230)));
    appends.on_appended(at(230), 3 * MILLISECOND);
    assert!(!appends.admit(&batch(1), at(632)));
    assert!(appends.admit(&batch(1), at(633)));
}

#[test]
fn pauses_are_bounded_and_forgotten_after_a_time_without_slow_ones() {
    let mut appends = InlineAppends::new(100);
    let mut now = at(0);
    for _ in 0..20 {
        appends.on_appended(now, 3 * MILLISECOND);
        now = now + 3 * MILLISECOND;
        assert!(!appends.admit(&batch(1), now));
        now = now + Duration::from_secs(30);
        assert!(appends.admit(&batch(1), now));
    }
    // Quick ones, but not for long: the next pause is a long one again.
    appends.on_appended(now, MILLISECOND);
    appends.on_appended(now, 3 * MILLISECOND);
    now = now + Duration::from_secs(29);
    assert!(!appends.admit(&batch(1), now));
    // For as long as it was paused.
    now = now + Duration::from_secs(32);
    appends.on_appended(now, MILLISECOND);
    appends.on_appended(now, 3 * MILLISECOND);
    assert!(!appends.admit(&batch(1), now + 102 * MILLISECOND));
    assert!(appends.admit(&batch(1), now + 103 * MILLISECOND));
}
