use super::*;
use crate::address::HostPort;
use crate::entry::Entry;
use crate::forming::Kept;
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_control::message::{Join, Joined, LeaseRequest, Present};
use brickyard_metadata::{
    Addresses, CatalogVersion, ClusterId, Genesis, Machine, NodeKey, Registration, Roles,
};
use brickyard_types::{TableAttributes, UnixMillis};
use std::io;

/// Nobody leads; who is connected, what was answered and what was to be stored.
#[derive(Default)]
struct Alone {
    answers: Vec<Message>,
    targets: Vec<Target>,
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
        self.targets.clone()
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
        is_end_cut: false,
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
fn node_that_was_removed_hears_so_of_whomever_it_takes_for_the_leader() {
    let mut catalog = catalog();
    let removal = Change::RemoveNode {
        node: NodeId(1),
        force: true,
    };
    catalog.apply(removal).unwrap();
    let mut common = common(1, 1);
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), catalog.encode());
    let mut member = Member::new(NodeId(0), recovered, &common).unwrap();
    member.settle(&mut common);
    let mut ask = |node: u32| {
        let request = LeaseRequest {
            node: NodeId(node),
            incarnation: Incarnation(2),
            sent_at: 0,
            bricks: Vec::new(),
        };
        let message = Message::ToLeader(ToLeader::Lease(request));
        common.host.answers.clear();
        member.on_message(&Source::Arrived(1), message, &mut common);
        std::mem::take(&mut common.host.answers)
    };
    let superseded = Superseded {
        incarnation: Incarnation(2),
        present: None,
    };
    let answers = ask(1);
    assert_eq!(answers, [Message::ToNode(ToNode::Superseded(superseded))]);
    assert_eq!(ask(0), [], "it is there");
    assert_eq!(
        ask(2),
        [],
        "it may be there, and this one not know of it yet"
    );
}

#[test]
fn node_that_was_removed_is_not_taken_in_as_another_one() {
    let mut common = common(1, 1);
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), founded().encode());
    let mut leader = Member::new(NodeId(0), recovered, &common).unwrap();
    let mut ask = |cluster: Option<ClusterId>| {
        let join = Message::ToLeader(ToLeader::Join(Join {
            cluster,
            after: None,
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

fn asks(after: Option<u64>, run: u64) -> Join {
    Join {
        cluster: Some(ClusterId(1)),
        after: after.map(Incarnation),
        registration: registration(2, run),
    }
}

/// The leader may have it in its log behind the removal, of which its catalog does not know yet.
#[test]
fn return_behind_a_removal_is_refused() {
    let mut known = catalog();
    let mut unknown = founded();
    let before = unknown.clone();
    let present = known.node(NodeId(1)).unwrap().incarnation.0;
    let again = || Entry::Register(asks(Some(present), 2));
    assert!(again().apply(&mut known).is_ok());
    assert!(again().apply(&mut unknown).is_err());
    assert_eq!(unknown, before);
}

/// What a process asked for may arrive after it was killed, and after the next one was registered.
#[test]
fn return_of_an_earlier_process_does_not_end_a_later_one() {
    let mut known = catalog();
    let present = known.node(NodeId(1)).unwrap().incarnation.0;
    let apply = |run: u64, known: &mut Catalog| {
        let outcome = Entry::Register(asks(Some(present), run)).apply(known);
        let own = known.node(NodeId(1)).unwrap();
        (outcome.is_ok(), own.registration.run)
    };
    assert_eq!(apply(3, &mut known), (true, 3));
    assert_eq!(apply(2, &mut known), (false, 3), "it is late");
    assert_eq!(apply(3, &mut known), (true, 3), "asked twice");
}

#[test]
fn node_that_is_told_of_a_later_life_of_its_own_asks_again_after_that() {
    let mut member = second(2);
    let mut common = common(2, 2);
    let source = Source::Dialed(Target::Node(NodeId(0)));
    common.host.targets.push(Target::Node(NodeId(0)));
    let mut told = |run: u64, incarnation: u64| {
        let incarnation = Incarnation(incarnation);
        let present = ToNode::Present(Present { run, incarnation });
        member.on_message(&source, Message::ToNode(present), &mut common);
        member.settle(&mut common);
        let asked = common.host.answers.drain(..).find_map(|it| match it {
            Message::ToLeader(ToLeader::Join(join)) => join.after,
            _ => None,
        });
        asked.map(|it| it.0)
    };
    assert_eq!(told(1, 9), None, "an earlier process asked");
    assert_eq!(told(2, 9), Some(9));
    assert_eq!(told(2, 8), None, "it said so already, and knows better");
}
