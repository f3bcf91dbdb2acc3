use super::*;
use crate::address::HostPort;
use crate::forming::Kept;
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_metadata::{Addresses, ClusterId, Genesis, Machine, NodeKey, Registration, Roles};
use brickyard_types::{TableAttributes, UnixMillis};
use std::io;

/// Nobody is there, and nothing is done.
struct Alone;

impl Host for Alone {
    fn now(&self) -> Instant {
        Instant(1)
    }

    fn unix(&self) -> UnixMillis {
        UnixMillis(1)
    }

    fn member(&self, _source: &Source) -> Option<NodeId> {
        None
    }

    fn send(&mut self, _to: NodeId, _message: &Message, _urgency: Urgency) -> bool {
        false
    }

    fn reply(&mut self, _source: &Source, _message: &Message, _urgency: Urgency) {}

    fn connected(&self) -> Vec<Target> {
        Vec::new()
    }

    fn add_seed(&mut self, _address: &HostPort) {}

    fn keep(&mut self, _kept: &Kept) -> io::Result<()> {
        Ok(())
    }

    fn follow(&mut self, _catalog: &Catalog, _me: NodeId) {}

    fn introduce(&mut self, _me: NodeId, _incarnation: Incarnation) {}

    fn dial(&mut self, _own: Seat, _peer: Seat, _connection: u64, _address: HostPort) {}

    fn bricks(&self) -> usize {
        0
    }

    fn tell(&mut self, _brick: usize, message: ToBrick) {
        drop(message);
    }

    fn states(&self) -> Vec<LoopState> {
        Vec::new()
    }

    fn adopted(&self) -> u64 {
        0
    }

    fn persist(&mut self, _persist: Persist) {}

    fn show(&mut self, _catalog: &Arc<Catalog>) {}

    fn confirm_tail(&mut self) {}

    fn stop(&mut self, reason: &str) {
        panic!("{reason}");
    }
}

fn registration(node: u8, run: u64) -> Registration {
    Registration {
        key: NodeKey([node; 20]),
        run,
        addresses: Addresses {
            host: format!("node{node}"),
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
    }
}

/// A cluster of the nodes 1, which votes, and 2, both in their first runs.
fn catalog() -> Catalog {
    let mut catalog = Catalog::found(Genesis {
        cluster: ClusterId(1),
        node: registration(1, 1),
        attributes: TableAttributes::default(),
        partitions: Some(1),
        seed: 7,
        created: UnixMillis(0),
    })
    .unwrap();
    let change = Change::Register(registration(2, 1));
    catalog.apply(change).unwrap();
    catalog
}

/// The second node, in that run, with what it has of the catalog.
fn second(run: u64) -> Member {
    let catalog = catalog();
    let mut common = Common {
        host: Alone,
        registration: registration(2, run),
        control: brickyard_control::Config::default(),
        consensus_seed: 3,
        is_tail_sure: true,
        drained: None,
    };
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), catalog.encode());
    let mut member = Member::new(NodeId(1), recovered, &common).unwrap();
    member.settle(&mut common);
    assert_eq!(
        member.catalog().map(|it| it.version()),
        Some(catalog.version())
    );
    member
}

/// PROTOCOL rule 9: what the node had stored as agreed may be older than its logs.
#[test]
fn logs_are_read_by_a_catalog_that_names_this_life() {
    assert!(
        second(2).first().is_none(),
        "it knows of its last life only"
    );
    let first = second(1).first().expect("it knows of this life");
    assert_eq!(first.node, NodeId(1));
    let node = first.catalog.node(NodeId(1)).unwrap();
    assert_eq!(first.incarnation, node.incarnation);
}
