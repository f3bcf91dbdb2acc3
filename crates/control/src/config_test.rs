use super::*;

/// The figures that docs/operations.md and the servers' help name, but for `lease` and `renew`, which a node is
/// configured with: one that is changed is changed there as well.
#[test]
fn times_and_bounds_are_those_that_operators_are_told() {
    let secs = Duration::from_secs;
    let expected = ControlConfig {
        lease: Duration::from_millis(1_500),
        renew: Duration::from_millis(300),
        eviction_timeout: secs(2),
        replace_after: secs(30),
        evict_pause: secs(10),
        balance_pause: secs(1),
        balance_step: 32,
        voters: 3,
        batch: 4_096,
        learners_per_brick: 64,
        split_after: secs(30),
        splits_per_brick: 4,
        merge_after: secs(60),
        colocate_timeout: secs(300),
        hot: HotConfig {
            busy: 70,
            replicas: 2,
            cool: secs(300),
        },
    };
    assert_eq!(ControlConfig::default(), expected);
}

#[test]
fn what_follows_from_them() {
    let config = ControlConfig::default();
    let ms = Duration::from_millis;
    assert_eq!(config.margin(), ms(25));
    assert_eq!(config.lease_and_margin(), ms(1_525));
    assert_eq!(config.first_request_timeout(), ms(900));
    assert_eq!(config.hot_pause(), Duration::from_secs(10));
    // In thousandths: of 700 a seventh, and half of the half that makes a partition hot.
    assert_eq!((config.hot_step(), config.cool_below()), (100, 175));
    let quick = ControlConfig {
        hot: HotConfig {
            cool: Duration::from_secs(3),
            ..HotConfig::default()
        },
        ..config
    };
    assert_eq!(quick.hot_pause(), Duration::from_secs(3));
}
