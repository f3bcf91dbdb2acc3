use super::*;
use crate::address::HostPort;
use crate::entry::Entry;
use crate::forming::Kept;
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_control::message::{Join, Joined};
use brickyard_metadata::{
    Addresses, CatalogVersion, ClusterId, Genesis, Machine, NodeKey, Registration, Roles,
};
use brickyard_types::{TableAttributes, UnixMillis};
use std::io;

/// Nobody is there; what was answered and what was to be stored.
#[derive(Default)]
struct Alone {
    answers: Vec<Message>,
    persisted: Vec<u64>,
}

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

    fn reply(&mut self, _source: &Source, message: &Message, _urgency: Urgency) {
        self.answers.push(message.clone());
    }

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

    fn persist(&mut self, persist: Persist) {
        self.persisted.push(persist.number);
    }

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

/// A cluster of node 1 alone, in its first run.
fn founded() -> Catalog {
    Catalog::found(Genesis {
        cluster: ClusterId(1),
        node: registration(1, 1),
        attributes: TableAttributes::default(),
        partitions: Some(1),
        seed: 7,
        created: UnixMillis(0),
    })
    .unwrap()
}

/// A cluster of the nodes 1, which votes, and 2, both in their first runs.
fn catalog() -> Catalog {
    let mut catalog = founded();
    let change = Change::Register(registration(2, 1));
    catalog.apply(change).unwrap();
    catalog
}

fn common(node: u8, run: u64) -> Common<Alone> {
    Common {
        host: Alone::default(),
        registration: registration(node, run),
        control: brickyard_control::Config::default(),
        consensus_seed: 3,
        is_tail_sure: true,
        drained: None,
    }
}

/// The second node, in that run, with what it has of the catalog.
fn second(run: u64) -> Member {
    let catalog = catalog();
    let mut common = common(2, run);
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

#[test]
fn node_that_was_removed_ends_when_it_hears_of_it() {
    let told = |version: u64, run: u64| {
        let mut member = second(2);
        let joined = ToNode::Joined(Joined {
            run,
            cluster: ClusterId(1),
            outcome: Err("removed".to_owned()),
            is_removed: true,
            version: CatalogVersion(version),
        });
        let source = Source::Dialed(Target::Node(NodeId(0)));
        member.on_message(&source, Message::ToNode(joined), &mut common(2, 2));
        member.superseded()
    };
    let known = catalog().version().0;
    assert_eq!(told(known, 2), Some(None));
    assert_eq!(told(known - 1, 2), None, "it may not have heard of it yet");
    assert_eq!(told(known, 1), None, "an earlier process asked");
}

#[test]
fn node_that_was_removed_is_not_taken_in_as_another_one() {
    let mut common = common(1, 1);
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), founded().encode());
    let mut leader = Member::new(NodeId(0), recovered, &common).unwrap();
    let mut ask = |cluster: Option<ClusterId>| {
        let join = Message::ToLeader(ToLeader::Join(Join {
            cluster,
            registration: registration(2, 2),
        }));
        // It has to be elected first.
        for _ in 0..1_000 {
            common.host.answers.clear();
            leader.on_message(&Source::Arrived(1), join.clone(), &mut common);
            leader.settle(&mut common);
            for number in std::mem::take(&mut common.host.persisted) {
                leader.on_report(&Report::Stored(number));
                leader.settle(&mut common);
            }
            let mut answers = common.host.answers.drain(..);
            let joined = answers.find_map(|it| match it {
                Message::ToNode(ToNode::Joined(joined)) => Some(joined),
                _ => None,
            });
            if let Some(joined) = joined {
                let nodes = leader.catalog().map(|it| it.nodes().len());
                return (joined.is_removed, joined.outcome.is_ok(), nodes);
            }
            drop(answers);
            leader.on_tick(&mut common);
            leader.settle(&mut common);
        }
        panic!("nobody answers");
    };
    assert_eq!(ask(Some(ClusterId(1))), (true, false, Some(1)));
    assert_eq!(ask(None), (false, true, Some(2)));
}

/// The leader may have it in its log behind the removal, of which its catalog does not know yet.
#[test]
fn return_behind_a_removal_is_refused() {
    let mut known = catalog();
    let mut unknown = founded();
    let before = unknown.clone();
    let again = || Entry::Return(registration(2, 2));
    assert!(again().apply(&mut known).is_ok());
    assert!(again().apply(&mut unknown).is_err());
    assert_eq!(unknown, before);
}
