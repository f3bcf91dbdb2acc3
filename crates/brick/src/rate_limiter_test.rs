use super::*;

/// Bytes that are copied in a second, looked at every `tick`, in records of `record` bytes.
fn copied(rate: u64, tick: Duration, record: usize) -> usize {
    let mut rate_limiter = RateLimiter::new(rate);
    let mut now = Instant(1_000_000_000);
    let until = now + Duration::from_secs(1);
    let mut copied = 0;
    while now < until {
        rate_limiter.refill(now);
        while rate_limiter.has_room() && copied < 1_000_000_000 {
            rate_limiter.spend(record);
            copied += record;
        }
        now = now + tick;
    }
    copied
}

#[test]
fn rate_is_kept_whatever_the_ticks_and_records() {
    for tick in [1, 50, 100] {
        for record in [10, 1_000, 100_000] {
            let copied = copied(1_000_000, Duration::from_millis(tick), record);
            // A second's worth, and the burst at the beginning.
            assert!(copied >= 1_100_000, "{copied} every {tick} ms");
            assert!(copied <= 1_250_000 + record, "{copied} every {tick} ms");
        }
    }
}

#[test]
fn without_a_rate_nothing_waits() {
    assert_eq!(copied(0, Duration::from_secs(1), 1_000_000), 1_000_000_000);
}

#[test]
fn slow_rates_add_up() {
    let copied = copied(100, Duration::from_millis(1), 1);
    assert!((100..=126).contains(&copied), "{copied}");
}

#[test]
fn pauses_do_not_add_up() {
    let mut rate_limiter = RateLimiter::new(1_000);
    rate_limiter.refill(Instant(0));
    rate_limiter.spend(250);
    assert!(!rate_limiter.has_room());
    rate_limiter.refill(Instant(0) + Duration::from_secs(100));
    rate_limiter.spend(249);
    assert!(rate_limiter.has_room());
    rate_limiter.spend(1);
    assert!(!rate_limiter.has_room());
}
