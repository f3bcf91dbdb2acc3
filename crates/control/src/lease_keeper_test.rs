use super::*;
use crate::controller::testing::{World, first, ms, registration, replica};
use brickyard_metadata::{CatalogVersion, Change};
use brickyard_types::Incarnation;

const TERM: u64 = 5;

fn keeper(config: &ControlConfig, elected_at: Instant) -> LeaseKeeper {
    let voters = (0..3).map(NodeId).collect();
    LeaseKeeper::new(
        config.clone(),
        NodeId(0),
        TERM,
        voters,
        elected_at,
        elected_at,
    )
}

fn at(millis: u64) -> Instant {
    Instant(1_000_000_000_000) + ms(millis)
}

fn request(node: u32, sent_at: Instant, stopped: u64) -> LeaseRequest {
    LeaseRequest {
        node: NodeId(node),
        incarnation: Incarnation(u64::from(node) + 1),
        sent_at: sent_at.0,
        bricks: vec![BrickState {
            is_turning: true,
            stopped: CatalogVersion(stopped),
            accepted: CatalogVersion(stopped),
        }],
    }
}

fn catalog() -> Catalog {
    World::new(3, 3, 1).catalog
}

fn contact(ago: u64) -> LeaderContactReply {
    LeaderContactReply {
        term: TERM,
        ago: ms(ago),
    }
}

/// Asks and has a round answered.
fn renew(
    keeper: &mut LeaseKeeper,
    now: Instant,
    request: LeaseRequest,
    pending_acks: &[(Replica, u64)],
) -> Vec<LeaseGrant> {
    keeper.on_request(now, request);
    let token = keeper.poll_round(now).unwrap();
    let pending_acks = pending_acks.iter().copied().collect();
    let grants = keeper.on_quorum(token, &catalog(), &pending_acks);
    grants.into_iter().map(|(_, grant)| grant).collect()
}

#[test]
fn grant_waits_for_a_majority() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    keeper.on_request(at(2_000), request(1, at(1_999), 1));
    let token = keeper.poll_round(at(2_000)).unwrap();
    assert!(!keeper.is_granted(first(1), at(2_000)));
    let grants = keeper.on_quorum(token, &catalog(), &BTreeMap::new());
    let (node, grant) = &grants[0];
    assert_eq!((*node, grant.sent_at), (NodeId(1), at(1_999).0));
    assert_eq!(grant.bricks, [true]);
    assert!(keeper.is_granted(first(1), at(2_000)));
    // A round is answered once.
    assert_eq!(keeper.on_quorum(token, &catalog(), &BTreeMap::new()), []);
}

/// A leader's own authority: what it grants ends within a lease of the start of the round that was answered.
#[test]
fn request_that_came_after_the_round_began_waits_for_the_next() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    keeper.on_request(at(2_000), request(1, at(2_000), 1));
    let token = keeper.poll_round(at(2_000)).unwrap();
    keeper.on_request(at(2_001), request(2, at(2_001), 1));
    let grants = keeper.on_quorum(token, &catalog(), &BTreeMap::new());
    let nodes: Vec<NodeId> = grants.iter().map(|(node, _)| *node).collect();
    assert_eq!(nodes, [NodeId(1)]);
    let token = keeper.poll_round(at(2_010)).unwrap();
    let grants = keeper.on_quorum(token, &catalog(), &BTreeMap::new());
    assert_eq!(grants[0].0, NodeId(2));
}

#[test]
fn round_that_is_not_answered_is_followed_by_others_but_not_at_once() {
    let config = ControlConfig::default();
    let mut keeper = keeper(&config, at(0));
    keeper.on_request(at(2_000), request(1, at(2_000), 1));
    let lost = keeper.poll_round(at(2_000)).unwrap();
    keeper.on_request(at(2_001), request(1, at(2_001), 1));
    assert_eq!(keeper.poll_round(at(2_001)), None);
    assert_eq!(keeper.poll_round(at(2_149)), None);
    let token = keeper.poll_round(at(2_150)).unwrap();
    // The later one answers for both, with the newest request.
    let grants = keeper.on_quorum(token, &catalog(), &BTreeMap::new());
    assert_eq!((grants.len(), grants[0].1.sent_at), (1, at(2_001).0));
    assert_eq!(keeper.on_quorum(lost, &catalog(), &BTreeMap::new()), []);
    // Lost for certain, it is tried again.
    keeper.on_request(at(3_000), request(1, at(3_000), 1));
    let lost = keeper.poll_round(at(3_000)).unwrap();
    keeper.on_quorum_lost(lost);
    assert!(keeper.poll_round(at(3_001)).is_some());
}

#[test]
fn lease_runs_out_with_a_margin_counted_from_when_the_request_came() {
    let config = ControlConfig::default();
    assert_eq!(config.margin(), ms(25));
    let mut keeper = keeper(&config, at(0));
    renew(&mut keeper, at(2_000), request(1, at(1_700), 1), &[]);
    assert!(!keeper.has_run_out(first(1), at(2_000) + config.lease));
    assert!(!keeper.has_run_out(first(1), at(3_524)));
    assert!(keeper.has_run_out(first(1), at(3_525)));
    // Of a brick that never asked nothing is to be feared but what earlier leaders granted.
    assert!(keeper.has_run_out(first(2), at(1_525)));
}

/// Rule `a proposed view only stops`: a new leader waits for leases afresh.
#[test]
fn new_leader_waits_for_what_earlier_ones_granted() {
    let config = ControlConfig::default();
    let keeper = keeper(&config, at(0));
    assert!(!keeper.has_run_out(first(1), at(1_524)));
    assert!(keeper.has_run_out(first(1), at(1_525)));
}

/// Rule `leases count from the request`.
#[test]
fn voters_shorten_the_wait_once_a_majority_has_said_when_it_last_heard_a_leader() {
    let config = ControlConfig::default();
    let mut keeper = keeper(&config, at(0));
    let unheard = |keeper: &LeaseKeeper, now| {
        keeper
            .voters_to_query(now)
            .map(|node| node.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(unheard(&keeper, at(0)), [0, 1, 2]);
    keeper.on_leader_contact(at(10), NodeId(0), contact(1_000));
    assert!(
        !keeper.has_run_out(first(1), at(600)),
        "one voter is no majority"
    );
    assert_eq!(unheard(&keeper, at(10)), [1, 2]);
    keeper.on_leader_contact(at(10), NodeId(1), contact(900));
    assert_eq!(unheard(&keeper, at(10)), Vec::<u32>::new());
    // 900 ms ago, by a clock that may be fast by 1 %.
    let until = 10 - 9 + 1_525 - 900 + 18;
    assert!(!keeper.has_run_out(first(1), at(until - 1)));
    assert!(keeper.has_run_out(first(1), at(until)));
}

/// Rule `leases count from the request`.
#[test]
fn answers_of_another_term_or_of_others_than_voters_do_not_count() {
    let config = ControlConfig::default();
    let mut keeper = keeper(&config, at(0));
    let other = LeaderContactReply {
        term: TERM - 1,
        ..contact(5_000)
    };
    keeper.on_leader_contact(at(10), NodeId(0), other);
    keeper.on_leader_contact(at(10), NodeId(1), other);
    keeper.on_leader_contact(at(10), NodeId(7), contact(5_000));
    keeper.on_leader_contact(at(10), NodeId(8), contact(5_000));
    assert!(!keeper.has_run_out(first(1), at(1_000)));
}

/// Rule `grants count for adopted maps`.
#[test]
fn brick_that_owes_an_acknowledgement_gets_no_extension() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    let pending_acks = [(first(1), 40)];
    assert_eq!(
        renew(
            &mut keeper,
            at(2_000),
            request(1, at(2_000), 39),
            &pending_acks
        ),
        []
    );
    assert!(keeper.has_run_out(first(1), at(2_000)));
    let grants = renew(
        &mut keeper,
        at(2_100),
        request(1, at(2_100), 40),
        &pending_acks,
    );
    assert_eq!(grants[0].bricks, [true]);
    assert_eq!(
        grants[0].version,
        catalog().version(),
        "the grant names the map"
    );
}

/// Rule `a hanging loop loses its lease`.
#[test]
fn brick_whose_loop_hangs_gets_no_extension() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    let mut hung = request(1, at(2_000), 1);
    hung.bricks[0].is_turning = false;
    assert_eq!(renew(&mut keeper, at(2_000), hung, &[]), []);
    assert!(keeper.has_run_out(first(1), at(2_000)));
}

/// Rules `members name an incarnation` and `only the same machine proves death`.
#[test]
fn older_life_gets_no_extension() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    keeper.on_request(at(2_000), request(1, at(2_000), 1));
    let token = keeper.poll_round(at(2_000)).unwrap();
    let mut catalog = catalog();
    let mut next = registration(1);
    next.run += 1;
    catalog.apply(Change::Register(next)).unwrap();
    assert_eq!(keeper.on_quorum(token, &catalog, &BTreeMap::new()), []);
    assert!(keeper.has_run_out(first(1), at(2_000)));
}

#[test]
fn acknowledgements_only_go_up() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    assert!(keeper.on_request(at(1), request(1, at(1), 9)));
    assert!(!keeper.on_request(at(2), request(1, at(2), 7)));
    assert_eq!(keeper.state(first(1)).stopped, CatalogVersion(9));
    assert_eq!(keeper.asked_at(NodeId(1), Incarnation(2)), Some(at(2)));
    assert_eq!(
        keeper.state(replica(1, 3)),
        BrickState::default(),
        "another life is another brick"
    );
}

#[test]
fn lives_that_are_over_are_forgotten_once_their_leases_have_run_out() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    renew(&mut keeper, at(2_000), request(1, at(2_000), 1), &[]);
    let mut catalog = catalog();
    let mut next = registration(1);
    next.run += 1;
    next.machine.boot = "another".to_owned();
    catalog.apply(Change::Register(next)).unwrap();
    keeper.on_request(at(2_000), request(2, at(2_000), 1));
    keeper.forget(at(3_000), &catalog);
    assert!(!keeper.has_run_out(first(1), at(3_000)));
    assert_eq!(keeper.asked_at(NodeId(1), Incarnation(2)), None);
    let present = keeper.asked_at(NodeId(2), Incarnation(3));
    assert_eq!(present, Some(at(2_000)), "a life that goes on");
    keeper.forget(at(3_524), &catalog);
    assert_ne!(keeper.state(first(1)), BrickState::default());
    keeper.forget(at(3_525), &catalog);
    assert!(keeper.has_run_out(first(1), at(3_525)));
    assert_eq!(keeper.state(first(1)), BrickState::default());
}

/// Rule `leases count from the request`: a leader that was deposed between two rounds has had the first one answered,
/// not the second.
#[test]
fn round_that_is_answered_grants_nothing_to_who_asked_for_the_next_one() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    let grants = |keeper: &mut LeaseKeeper, token| {
        let grants = keeper.on_quorum(token, &catalog(), &BTreeMap::new());
        grants.iter().map(|(node, _)| node.0).collect::<Vec<_>>()
    };
    keeper.on_request(at(2_000), request(1, at(2_000), 1));
    let one = keeper.poll_round(at(2_000)).unwrap();
    keeper.on_request(at(2_150), request(2, at(2_150), 1));
    let next = keeper.poll_round(at(2_150)).unwrap();
    assert_eq!(grants(&mut keeper, one), [1]);
    assert!(!keeper.is_granted(first(2), at(2_151)));
    assert_eq!(grants(&mut keeper, next), [2]);
}

#[test]
fn round_is_given_up_when_what_it_grants_would_be_over() {
    let config = ControlConfig::default();
    let mut keeper = keeper(&config, at(0));
    keeper.on_request(at(2_000), request(1, at(2_000), 1));
    let late = keeper.poll_round(at(2_000)).unwrap();
    let later = at(2_000) + config.lease;
    keeper.on_request(later, request(2, later, 1));
    keeper.poll_round(later).unwrap();
    assert_eq!(keeper.on_quorum(late, &catalog(), &BTreeMap::new()), []);
}

#[test]
fn grant_counts_up_to_its_end_and_not_at_it() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    renew(&mut keeper, at(2_000), request(1, at(2_000), 1), &[]);
    assert!(keeper.is_granted(first(1), at(3_524)));
    assert!(!keeper.is_granted(first(1), at(3_525)));
}

/// Rule `leases count from the request`.
#[test]
fn half_of_an_even_number_of_voters_is_no_majority() {
    let mut keeper = keeper(&ControlConfig::default(), at(0));
    keeper.set_voters((0..4).map(NodeId).collect());
    for node in 0..2 {
        keeper.on_leader_contact(at(10), NodeId(node), contact(5_000));
    }
    assert!(!keeper.has_run_out(first(1), at(1_000)), "two of four");
    let silent: Vec<NodeId> = keeper.voters_to_query(at(10)).collect();
    assert_eq!(silent, [NodeId(2), NodeId(3)]);
    keeper.on_leader_contact(at(10), NodeId(2), contact(5_000));
    assert!(keeper.has_run_out(first(1), at(1_000)));
}

/// Rule `leases count from the request`.
#[test]
fn what_a_voter_heard_last_counts_by_the_slower_of_two_clocks() {
    let config = ControlConfig::default();
    let mut late = keeper(&config, at(0));
    for node in 0..2 {
        late.on_leader_contact(at(1_000), NodeId(node), contact(1_100));
    }
    let until = at(1_000 + 1_525 - 1_100 + 11);
    assert!(!late.has_run_out(first(1), Instant(until.0 - 1)));
    assert!(late.has_run_out(first(1), until));
    // Of two answers the one that says less counts, whichever came last.
    for answers in [[1_000, 5], [5, 1_000]] {
        let mut keeper = keeper(&config, at(0));
        for ago in answers {
            keeper.on_leader_contact(at(20), NodeId(0), contact(ago));
        }
        keeper.on_leader_contact(at(30), NodeId(1), contact(1_000));
        assert!(!keeper.has_run_out(first(1), at(1_000)), "{answers:?}");
    }
}

#[test]
fn nobody_is_asked_once_earlier_leases_are_over_anyway() {
    let keeper = keeper(&ControlConfig::default(), at(0));
    assert_eq!(keeper.voters_to_query(at(1_524)).count(), 3);
    assert_eq!(keeper.voters_to_query(at(1_525)).count(), 0);
}
