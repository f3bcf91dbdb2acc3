use super::*;
use brickyard_consensus::ConsensusConfig;
use brickyard_metadata::{Addresses, ClusterId, Genesis, Machine, NodeKey, Registration, Roles};
use brickyard_types::{TableAttributes, UnixMillis};

const ME: NodeId = NodeId(0);
const OTHER: NodeId = NodeId(1);

fn catalog() -> Catalog {
    Catalog::found(Genesis {
        cluster: ClusterId(1),
        node: Registration {
            key: NodeKey([1; 20]),
            run: 1,
            addresses: Addresses {
                host: "node".to_owned(),
                port: 1,
                bricks: vec![2],
                peer_port: 3,
                http_port: None,
            },
            bricks: 1,
            weight: 100,
            zone: None,
            roles: Roles::default(),
            machine: Machine::default(),
        },
        attributes: TableAttributes::default(),
        partitions: Some(1),
        seed: 7,
        created: UnixMillis(0),
    })
    .unwrap()
}

/// Ticks, with a disk that stores at once, until it is so.
fn run_until(agreement: &mut Agreement, is_so: impl Fn(&Agreement) -> bool) {
    for _ in 0..1_000 {
        while let Some(happened) = agreement.poll() {
            if let Happened::Persist(persist) = happened {
                agreement.on_report(&Report::Stored(persist.number));
            }
        }
        if is_so(agreement) {
            return;
        }
        agreement.tick();
    }
    panic!("it does not come about");
}

/// A node that was taken in may stop before it has stored anything: a voter that has no log could not even ask to be
/// taken in again, for want of a majority.
#[test]
fn node_that_has_stored_nothing_has_not_caught_up() {
    let config = ConsensusConfig::new(raft_id(ME), 1);
    let recovered = Consensus::bootstrap(raft_id(ME), catalog().encode());
    let mut agreement = Agreement::new(Consensus::new(config.clone(), recovered).unwrap());
    run_until(&mut agreement, Agreement::is_settled);
    agreement
        .change_membership(MembershipChange::AddLearner(OTHER))
        .unwrap();
    run_until(&mut agreement, |it| {
        it.membership(&config).learners.contains(&OTHER)
    });
    assert!(agreement.membership(&config).caught_up.is_empty());
}

#[test]
fn leaders_are_counted_and_the_leader_tells_who_lacks_entries() {
    let config = ConsensusConfig::new(raft_id(ME), 1);
    let recovered = Consensus::bootstrap(raft_id(ME), catalog().encode());
    let mut agreement = Agreement::new(Consensus::new(config.clone(), recovered).unwrap());
    assert_eq!(agreement.leaders_seen(), 0);
    run_until(&mut agreement, Agreement::is_settled);
    assert_eq!(agreement.leaders_seen(), 1);
    agreement
        .change_membership(MembershipChange::AddLearner(OTHER))
        .unwrap();
    run_until(&mut agreement, |it| {
        it.membership(&config).learners.contains(&OTHER)
    });
    let log = agreement.log_view();
    assert_eq!((log.committed, log.applied), (log.last, log.last));
    assert_eq!(log.behind, [(ME, 0), (OTHER, log.last)]);
    assert_eq!(agreement.leaders_seen(), 1, "it leads still");
}
