use super::*;

#[test]
fn buckets_are_few_however_far_and_many_the_times() {
    let mut timers = Timers::new();
    let now = UnixMillis(1_700_000_000_000);
    timers.advance(now);
    assert_eq!(timers.take_due(), None);
    for number in 0..100_000_u64 {
        let ahead = (number * 7919) << (number % 20);
        timers.arm(Entry::new(1, KeyHash(number)), UnixMillis(now.0 + ahead));
    }
    assert!(timers.buckets.len() < 4000, "{}", timers.buckets.len());
    assert!(timers.memory() < 100_000 * 16);
}

#[test]
fn entry_comes_out_as_it_went_in() {
    let entry = Entry::new(u32::MAX, KeyHash(0x0123_4567_89ab_cdef));
    assert_eq!(
        (entry.partition(), entry.hash()),
        (u32::MAX, KeyHash(0x0123_4567_89ab_cdef))
    );
    let mut timers = Timers::new();
    timers.arm(entry, UnixMillis(1000));
    for (now, due) in [(500, None), (1000, Some(entry)), (1 << 60, None)] {
        timers.advance(UnixMillis(now));
        assert_eq!(timers.take_due(), due);
    }
}

#[test]
fn entry_does_not_come_out_twice_at_one_time() {
    let mut timers = Timers::new();
    let entry = Entry::new(0, KeyHash(5));
    let now = UnixMillis(10_000);
    timers.arm(entry, now);
    timers.advance(now);
    assert_eq!(timers.take_due(), Some(entry));
    timers.arm(entry, now);
    assert_eq!(timers.take_due(), None);
    timers.advance(UnixMillis(now.0 + BUCKET_MS_MIN));
    assert_eq!(timers.take_due(), Some(entry));
}

#[test]
fn sweep_goes_on_behind_a_bucket_that_came_due() {
    let mut timers = Timers::new();
    let (early, late) = (Entry::new(0, KeyHash(1)), Entry::new(0, KeyHash(2)));
    timers.arm(early, UnixMillis(1000));
    timers.arm(late, UnixMillis(100_000));
    timers.advance(UnixMillis(2000));
    // One that is asked for no more than this does not look whether the bucket has another.
    assert_eq!(timers.take_due(), Some(early));
    assert_eq!(timers.take_for_sweep(), Some(late));
    assert_eq!(timers.take_for_sweep(), None);
}
