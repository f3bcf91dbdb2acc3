use super::*;
use crate::random::Random;

const SECOND: u64 = NANOS_PER_SECOND;

/// How many are taken by somebody who asks at each of these times.
fn taken(rate: &SharedRate, times: impl Iterator<Item = u64>) -> u64 {
    times
        .filter(|at| rate.try_take(Instant(*at)).is_ok())
        .count() as u64
}

#[test]
fn zero_is_no_rate() {
    assert!(SharedRate::new(0).is_none());
}

#[test]
fn burst_passes_at_once_and_then_the_rate() {
    let rate = SharedRate::new(1_000).unwrap();
    let start = 5 * SECOND;
    assert_eq!(taken(&rate, std::iter::repeat_n(start, 10_000)), 100);
    // For two seconds, asked ten times as often as it may be.
    let times = (0..20_000).map(|step| start + step * SECOND / 10_000);
    assert_eq!(taken(&rate, times), 1_999);
    // What was not used is lost, but for a burst.
    assert_eq!(
        taken(&rate, std::iter::repeat_n(start + 60 * SECOND, 10_000)),
        100
    );
}

#[test]
fn slow_rate_lets_one_by_and_says_when_the_next_one_may_come() {
    let rate = SharedRate::new(1).unwrap();
    let start = Instant(7 * SECOND);
    assert_eq!(rate.try_take(start), Ok(()));
    let wait = rate.try_take(start).unwrap_err();
    assert_eq!(wait, Duration::from_secs(1));
    assert_eq!(rate.check(start), Err(wait));
    assert!(
        rate.try_take(start + (wait - Duration::from_nanos(1)))
            .is_err()
    );
    assert_eq!(rate.try_take(start + wait), Ok(()));
}

#[test]
fn debt_is_paid_before_more_is_taken() {
    let rate = SharedRate::new(1_000).unwrap();
    let start = Instant(SECOND);
    assert!(rate.is_idle(start));
    // Five seconds' worth, of which a tenth may be ahead.
    rate.take(5_000, start);
    assert!(!rate.is_idle(start));
    let wait = rate.check(start).unwrap_err();
    assert_eq!(wait, Duration::from_millis(4_901));
    assert!(rate.check(start + Duration::from_millis(4_900)).is_err());
    assert_eq!(rate.check(start + wait), Ok(()));
    assert!(rate.is_idle(start + Duration::from_secs(5)));
}

#[test]
fn nothing_overflows() {
    let rate = SharedRate::new(1).unwrap();
    for _ in 0..3 {
        rate.take(u64::MAX, Instant(u64::MAX - 1));
    }
    assert!(rate.check(Instant(1)).is_err());
    assert!(rate.try_take(Instant(1)).is_err());
    let fast = SharedRate::new(u64::MAX).unwrap();
    assert_eq!(fast.try_take(Instant(0)), Ok(()));
}

#[test]
fn bricks_that_take_at_the_same_time_get_no_more_together() {
    let rate = SharedRate::new(10_000).unwrap();
    let all: u64 = std::thread::scope(|scope| {
        let bricks: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| taken(&rate, (0..50_000).map(|step| SECOND + step * 10_000))))
            .collect();
        bricks.into_iter().map(|it| it.join().unwrap()).sum()
    });
    // Half a second, and a burst, whoever came when.
    assert!((5_900..=6_000).contains(&all), "{all}");
}

/// Whatever comes when: from no instant on is more taken than a burst and the rate since.
#[test]
fn no_stretch_has_more_than_the_rate_and_a_burst() {
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let rate = SharedRate::new(1 + random.next() % 100_000).unwrap();
        let mut now = SECOND;
        let mut times = Vec::new();
        for _ in 0..300 {
            now += random.next() % 50_000_000;
            // Several at once, and then a while of nothing.
            let tried = (0..random.next() % 40).filter(|_| rate.try_take(Instant(now)).is_ok());
            times.extend(tried.map(|_| now));
        }
        let one = rate.cost(1);
        let burst = BURST_NANOS.max(one);
        for first in 0..times.len() {
            for last in (first..times.len()).step_by(7) {
                let count = (last - first + 1) as u64;
                let len = times[last] - times[first];
                assert!(count * one <= burst + len, "seed {seed}: {count} in {len}");
            }
        }
    }
}
