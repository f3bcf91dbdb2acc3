use super::*;
use std::time::Duration;

fn at(millis: u64) -> Instant {
    Instant(5_000_000_000) + Duration::from_millis(millis)
}

fn ago(leader_contact: &LeaderContact, term: u64, own_term: u64, now: Instant) -> Option<u128> {
    let reply = leader_contact.answer(LeaderContactQuery { term }, own_term, now)?;
    assert_eq!(reply.term, term);
    Some(reply.ago.as_millis())
}

#[test]
fn earlier_leader_counts_and_the_one_that_asks_does_not() {
    let mut leader_contact = LeaderContact::new(at(0));
    leader_contact.on_leader(3, at(100));
    leader_contact.on_leader(3, at(200));
    assert_eq!(ago(&leader_contact, 4, 4, at(250)), Some(50));
    leader_contact.on_leader(4, at(260));
    assert_eq!(ago(&leader_contact, 4, 4, at(300)), Some(100));
    // An earlier one again, late: it was heard all the same.
    leader_contact.on_leader(3, at(310));
    assert_eq!(ago(&leader_contact, 4, 4, at(350)), Some(40));
    assert_eq!(ago(&leader_contact, 5, 5, at(350)), Some(40));
    // And a leader of any earlier term, not only of the last.
    leader_contact.on_leader(6, at(400));
    assert_eq!(ago(&leader_contact, 6, 6, at(450)), Some(140));
    assert_eq!(ago(&leader_contact, 7, 7, at(450)), Some(50));
}

/// Rule `leases count from the request`.
#[test]
fn voter_that_restarted_does_not_say_that_it_never_heard_anybody() {
    let mut leader_contact = LeaderContact::new(at(1_000));
    assert_eq!(ago(&leader_contact, 4, 4, at(1_100)), Some(100));
    leader_contact.on_leader(4, at(1_150));
    assert_eq!(ago(&leader_contact, 4, 4, at(1_200)), Some(200));
}

/// Rule `leases count from the request`.
#[test]
fn voter_answers_in_the_term_of_the_query_alone() {
    let mut leader_contact = LeaderContact::new(at(0));
    leader_contact.on_leader(3, at(100));
    assert_eq!(
        ago(&leader_contact, 4, 3, at(200)),
        None,
        "it would hear leader 3 still"
    );
    assert_eq!(
        ago(&leader_contact, 4, 5, at(200)),
        None,
        "leader 4 leads no more"
    );
}

/// Rule `leases count from the request`: what the leader that asks said itself is no sign of an earlier one.
#[test]
fn leader_that_asks_does_not_wait_for_its_own_signs_of_life() {
    let mut leader_contact = LeaderContact::new(at(0));
    leader_contact.on_leader(3, at(200));
    for millis in [260, 270, 280] {
        leader_contact.on_leader(4, at(millis));
    }
    assert_eq!(ago(&leader_contact, 4, 4, at(300)), Some(100));
    assert_eq!(ago(&leader_contact, 5, 5, at(300)), Some(20));
}
