use super::*;

fn at(millis: u64) -> Instant {
    Instant(9_000_000_000) + Duration::from_millis(millis)
}

fn lease() -> NodeLease {
    NodeLease::new(
        ControlConfig::default(),
        NodeId(1),
        Incarnation(4),
        2,
        at(0),
    )
}

fn grant(sent_at: Instant, version: u64, bricks: [bool; 2]) -> LeaseGrant {
    LeaseGrant {
        incarnation: Incarnation(4),
        sent_at: sent_at.0,
        lease: Duration::from_millis(1_500),
        version: CatalogVersion(version),
        bricks: bricks.to_vec(),
    }
}

fn until(lease: &NodeLease, brick: usize, adopted: u64) -> Instant {
    lease.until(brick, CatalogVersion(adopted))
}

/// Rule `leases count from the request`.
#[test]
fn lease_counts_from_the_request_and_not_from_the_answer() {
    let mut lease = lease();
    assert_eq!(until(&lease, 0, 9), Instant(0));
    lease.on_grant(&grant(at(100), 7, [true, true]), at(1_000));
    assert_eq!(until(&lease, 0, 9), at(1_600));
}

/// Rule `grants count for adopted maps`.
#[test]
fn grant_counts_for_a_brick_that_acts_by_its_map() {
    let mut lease = lease();
    lease.on_grant(&grant(at(100), 7, [true, false]), at(150));
    assert_eq!(until(&lease, 0, 6), Instant(0));
    assert_eq!(until(&lease, 0, 7), at(1_600));
    assert_eq!(until(&lease, 1, 7), Instant(0), "it was not granted");
    // What was granted by an older map goes on for whoever still acts by that one.
    lease.on_grant(&grant(at(400), 8, [true, true]), at(450));
    assert_eq!(until(&lease, 0, 7), at(1_600));
    assert_eq!(until(&lease, 0, 8), at(1_900));
    assert_eq!(until(&lease, 1, 8), at(1_900));
}

/// Rule `members name an incarnation`.
#[test]
fn grants_of_another_life_are_not_taken() {
    let mut lease = lease();
    let mut other = grant(at(100), 7, [true, true]);
    other.incarnation = Incarnation(3);
    lease.on_grant(&other, at(150));
    let future = grant(at(500), 7, [true, true]);
    lease.on_grant(&future, at(150));
    let older_process = grant(Instant(1), 7, [true, true]);
    lease.on_grant(&older_process, at(150));
    assert_eq!(until(&lease, 0, 7), Instant(0));
}

#[test]
fn late_grants_do_not_shorten_a_lease() {
    let mut lease = lease();
    lease.on_grant(&grant(at(400), 7, [true, true]), at(450));
    lease.on_grant(&grant(at(100), 7, [true, true]), at(460));
    assert_eq!(until(&lease, 0, 7), at(1_900));
    for step in 0..20 {
        let sent_at = at(500 + step);
        lease.on_grant(&grant(sent_at, 7, [true, true]), sent_at);
    }
    assert_eq!(lease.grants.len(), GRANTS_MAX);
    assert_eq!(until(&lease, 0, 7), at(2_019));
}

/// While the map changes all the time, a brick that is a little behind keeps its lease.
#[test]
fn many_grants_by_newer_maps_do_not_end_one_by_an_older_map() {
    let mut lease = lease();
    for step in 0..100 {
        let sent_at = at(10 * step);
        lease.on_grant(&grant(sent_at, step, [true, true]), sent_at);
    }
    assert_eq!(lease.grants.len(), GRANTS_MAX);
    assert_eq!(until(&lease, 0, 99), at(990 + 1_500));
    // 200 ms behind: what it has is no older than a few hundred.
    assert!(until(&lease, 0, 79) >= at(400 + 1_500));
}

/// Rule `leases count from the request`.
#[test]
fn clock_that_jumps_ahead_ends_the_lease() {
    let unix = |millis: u64| UnixMillis(1_700_000_000_000 + millis);
    let mut lease = lease();
    lease.on_grant(&grant(at(100), 7, [true, true]), at(150));
    assert!(!lease.on_clocks(at(200), unix(200)));
    assert!(
        !lease.on_clocks(at(300), unix(310)),
        "clocks are set a little all the time"
    );
    assert!(
        !lease.on_clocks(at(400), unix(100)),
        "back: nothing was missed"
    );
    assert_eq!(until(&lease, 0, 7), at(1_600));
    // Hardly more than clocks that run apart differ by.
    let margin = ControlConfig::default().margin().as_millis() as u64;
    assert!(!lease.on_clocks(at(410), unix(110 + margin)));
    assert!(lease.on_clocks(at(420), unix(122 + 2 * margin)));
    lease.on_grant(&grant(at(430), 7, [true, true]), at(440));
    assert_eq!(until(&lease, 0, 7), at(1_930));
    // Ten seconds that the clock of leases did not see.
    assert!(lease.on_clocks(at(500), unix(10_200)));
    assert_eq!(until(&lease, 0, 7), Instant(0));
    // Nor does an answer to what was asked before the pause count.
    lease.on_grant(&grant(at(450), 7, [true, true]), at(520));
    assert_eq!(until(&lease, 0, 7), Instant(0));
    lease.on_grant(&grant(at(510), 7, [true, true]), at(520));
    assert_eq!(until(&lease, 0, 7), at(2_010));
}

/// Rule `a hanging loop loses its lease`.
#[test]
fn loop_that_stands_still_is_not_kept_alive() {
    let mut lease = lease();
    let state = |turns| LoopState {
        turns,
        stopped: CatalogVersion(3),
        accepted: CatalogVersion(2),
    };
    let request = lease.request(at(100), &[state(5), state(8)]);
    assert_eq!(
        (request.node, request.incarnation),
        (NodeId(1), Incarnation(4))
    );
    assert_eq!(request.sent_at, at(100).0);
    assert_eq!(request.bricks[0].stopped, CatalogVersion(3));
    assert_eq!(request.bricks[0].accepted, CatalogVersion(2));
    let turning = |request: &LeaseRequest| -> Vec<bool> {
        request
            .bricks
            .iter()
            .map(|brick| brick.is_turning)
            .collect()
    };
    let request = lease.request(at(550), &[state(5), state(9)]);
    assert_eq!(turning(&request), [true, true]);
    let request = lease.request(at(650), &[state(5), state(9)]);
    assert_eq!(turning(&request), [false, true]);
    let request = lease.request(at(700), &[state(6), state(9)]);
    assert_eq!(turning(&request), [true, true]);
}

#[test]
fn only_node_there_is_needs_no_lease() {
    use crate::controller::testing::World;
    assert!(needs_none(&World::new(1, 1, 1).catalog));
    assert!(!needs_none(&World::new(2, 1, 1).catalog));
}

/// Rule `a hanging loop loses its lease`.
#[test]
fn loop_hangs_when_it_has_not_turned_for_the_whole_timeout() {
    let mut lease = lease();
    let timeout = ControlConfig::default().hang_max();
    let loops = [LoopState::default(); 2];
    let mut is_turning = |now| lease.request(now, &loops).bricks[0].is_turning;
    assert!(is_turning(at(0) + (timeout - Duration::from_nanos(1))));
    assert!(!is_turning(at(0) + timeout));
}

#[test]
fn grants_that_are_over_are_not_kept_and_one_asked_for_at_the_start_counts() {
    let mut lease = lease();
    lease.on_grant(&grant(at(0), 7, [true, true]), at(10));
    assert_eq!(until(&lease, 0, 7), at(1_500));
    lease.on_grant(&grant(at(100), 7, [true, true]), at(1_499));
    assert_eq!(lease.grants.len(), 2);
    lease.on_grant(&grant(at(200), 7, [true, true]), at(1_500));
    assert_eq!(lease.grants.len(), 2, "the first is over");
}

/// Rule `leases count from the request`.
#[test]
fn clock_has_jumped_by_more_than_the_margin_and_a_hundredth() {
    let unix = |millis: u64| UnixMillis(1_700_000_000_000 + millis);
    for (passed, has_jumped) in [(101_025, false), (101_026, true)] {
        let mut lease = lease();
        assert!(!lease.on_clocks(at(0), unix(0)));
        let clocks = lease.on_clocks(at(100_000), unix(passed));
        assert_eq!(clocks, has_jumped, "{passed} ms in 100 s");
    }
}

#[test]
fn of_too_many_grants_the_one_closest_to_an_earlier_one_goes() {
    let mut lease = lease();
    let asked = [0, 1, 100, 200, 300, 400, 500, 600, 700];
    for (millis, version) in asked.into_iter().zip(1..) {
        lease.on_grant(&grant(at(millis), version, [true, true]), at(700));
    }
    assert_eq!(lease.grants.len(), GRANTS_MAX);
    assert_eq!(until(&lease, 0, 2), at(1_500), "the second went");
    assert_eq!(until(&lease, 0, 3), at(1_600));
}
