use super::*;
use crate::address::HostPort;
use crate::discovery::Kept;
use crate::draining::Draining;
use crate::entry::Entry;
use crate::register::TakenIn;
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_control::message::{Drained, Join, Joined, LeaseRequest, Present};
use brickyard_metadata::{
    AccountRule, Addresses, CatalogVersion, ClusterId, Genesis, Limited, Machine, NodeKey,
    Registered, Registration, Roles,
};
use brickyard_types::{TableAttributes, UnixMillis};
use std::io;
use std::time::Duration;

/// Nobody leads; who is connected, what was answered and what was to be stored.
#[derive(Default)]
struct Alone {
    answers: Vec<Message>,
    targets: Vec<Target>,
    persisted: Vec<u64>,
    bricks: usize,
    /// Who it is that says something.
    speaker: Option<NodeId>,
    /// Since the beginning.
    passed: Duration,
    /// How much the programs of all others know.
    level: Option<Level>,
    told: Vec<ToBrick>,
}

impl Host for Alone {
    fn now(&self) -> Instant {
        Instant(1) + self.passed
    }

    fn unix(&self) -> UnixMillis {
        UnixMillis(1)
    }

    fn member(&self, _source: &Source) -> Option<NodeId> {
        self.speaker
    }

    fn level(&self, _node: NodeId) -> Option<Level> {
        self.level
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

    fn dial(&mut self, _own: Replica, _peer: Replica, _connection: u64, _address: HostPort) {}

    fn bricks(&self) -> usize {
        self.bricks
    }

    fn tell(&mut self, _brick: usize, message: ToBrick) {
        self.told.push(message);
    }

    fn states(&self) -> Vec<LoopState> {
        let state = LoopState {
            turns: 1,
            stopped: CatalogVersion(0),
            accepted: CatalogVersion(0),
        };
        vec![state; self.bricks]
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
        control: brickyard_control::ControlConfig::default(),
        consensus_seed: 3,
        is_tail_sure: true,
        is_end_cut: false,
        taken_in: None,
        drained: None,
    }
}

/// The second node, in that run, with what it has of the catalog.
fn second(run: u64) -> ClusterMember {
    let catalog = catalog();
    let mut common = common(2, run);
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), catalog.encode());
    let mut member = ClusterMember::new(NodeId(1), recovered, &common).unwrap();
    member.settle(&mut common);
    assert_eq!(
        member.catalog().map(|it| it.version()),
        Some(catalog.version())
    );
    member
}

/// An earlier program that met it in the agreed log would have to stop.
#[test]
fn change_that_not_all_nodes_know_is_refused() {
    let seen = |level: Option<Level>, rule: AccountRule| {
        let (mut member, mut common) = (second(1), common(2, 1));
        common.host.level = level;
        let change = Change::SetAccount {
            name: "ann".to_owned(),
            initial: Vec::new(),
            rules: vec![rule],
        };
        let origin = ChangeOrigin { brick: 0, token: 1 };
        member.on_change(origin, change, &mut common);
        match common.host.told.pop() {
            Some(ToBrick::Reply(1, ControlReply::Failed(reason))) => Some(reason),
            _ => None,
        }
    };
    let limit = || AccountRule::Limit(Limited::Operations, 5);
    let earlier = seen(Some(Level::FIRST), limit()).unwrap();
    assert!(
        earlier.contains("node 0 runs an earlier version"),
        "{earlier}"
    );
    let away = seen(None, limit()).unwrap();
    assert!(away.contains("node 0 has not connected"), "{away}");
    assert_eq!(seen(Some(Level::NEWEST), limit()), None);
    assert_eq!(seen(None, AccountRule::Reset), None, "all know that");
}

/// Rule `a restart cuts nothing`: what the node had stored as agreed may be older than its logs.
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

/// Whoever leads next takes it for one that stays, until it hears otherwise.
#[test]
fn node_that_is_to_stop_does_not_go_by_the_word_of_a_leader_that_is_none_any_more() {
    let (mut member, mut common) = (second(1), common(2, 1));
    let mut draining = Draining::begin(&mut common);
    common.drained = Some(Drained {
        incarnation: Incarnation(2),
        remaining: 0,
        sole: 0,
    });
    assert!(!draining.poll(&mut member, &mut common));
    common.host.passed = common.control.lease;
    assert!(
        draining.poll(&mut member, &mut common),
        "too few are left for another one"
    );
}

#[test]
fn node_that_was_removed_ends_when_it_hears_of_it() {
    let seen = |version: u64, run: u64| {
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
    assert_eq!(seen(known, 2), Some(None));
    assert_eq!(seen(known - 1, 2), None, "it may not have heard of it yet");
    assert_eq!(seen(known, 1), None, "an earlier process asked");
}

/// Node 0 of a cluster that node 1 was removed from; it does not lead.
fn follower(common: &Common<Alone>) -> ClusterMember {
    let mut catalog = catalog();
    let removal = Change::RemoveNode {
        node: NodeId(1),
        force: true,
    };
    catalog.apply(removal).unwrap();
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), catalog.encode());
    ClusterMember::new(NodeId(0), recovered, common).unwrap()
}

#[test]
fn node_that_was_removed_hears_so_of_whomever_it_takes_for_the_leader() {
    let mut common = common(1, 1);
    let mut member = follower(&common);
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
fn node_that_was_removed_while_it_was_down_hears_so_of_whomever_it_takes_for_the_leader() {
    let mut common = common(1, 1);
    let mut member = follower(&common);
    member.settle(&mut common);
    let mut is_told = |node: Option<u32>| {
        common.host.answers.clear();
        common.host.speaker = node.map(NodeId);
        let message = Message::ToLeader(ToLeader::Join(asks(Some(2), 2)));
        member.on_message(&Source::Arrived(1), message, &mut common);
        match common.host.answers.pop() {
            Some(Message::ToNode(ToNode::Joined(joined))) => joined.is_removed && joined.run == 2,
            Some(Message::ToNode(ToNode::NotLeader(_))) => false,
            other => panic!("{other:?}"),
        }
    };
    assert!(is_told(Some(1)));
    assert!(
        !is_told(Some(2)),
        "it may be there, and this one not know of it yet"
    );
    assert!(!is_told(None), "nobody knows who it is");
}

/// Who was removed while it was cut off hears of no leader.
#[test]
fn node_that_knows_no_leader_asks_anybody_for_its_lease() {
    let mut common = common(2, 1);
    let mut member = second(1);
    common.host.bricks = 1;
    common.host.targets.push(Target::Node(NodeId(0)));
    member.on_loops(&mut common);
    member.settle(&mut common);
    let asked = common.host.answers.pop();
    let Some(Message::ToLeader(ToLeader::Lease(request))) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(request.node, NodeId(1));
}

/// What is told the second node, which was taken in and has no catalog yet: what it is a life of from then on, if not of
/// node 1, and whether it was removed.
fn refused_before_the_first_catalog(seen: Joined) -> (Option<NodeId>, bool) {
    let mut common = common(2, 1);
    let known = catalog();
    common.taken_in = Some(TakenIn {
        cluster: known.cluster(),
        registered: registered(1, 2),
        version: known.version(),
    });
    common.host.targets.push(Target::Node(NodeId(0)));
    let mut member = ClusterMember::new(NodeId(1), RecoveredState::default(), &common).unwrap();
    member.settle(&mut common);
    let asked = common.host.answers.pop();
    let Some(Message::ToLeader(ToLeader::Join(join))) = asked else {
        panic!("it asks again until it has a catalog: {asked:?}");
    };
    assert_eq!(join.cluster, Some(known.cluster()), "it is nobody new");
    let source = Source::Dialed(Target::Node(NodeId(0)));
    member.on_message(&source, Message::ToNode(ToNode::Joined(seen)), &mut common);
    (member.renumbered(), member.superseded() == Some(None))
}

fn registered(node: u32, incarnation: u64) -> Registered {
    Registered {
        node: NodeId(node),
        incarnation: Incarnation(incarnation),
    }
}

#[test]
fn node_that_was_removed_before_its_first_catalog_hears_what_became_of_it() {
    let known = catalog().version().0;
    let joined = |run: u64, later: u64, outcome: Result<Registered, String>| Joined {
        run,
        cluster: ClusterId(1),
        is_removed: outcome.is_err(),
        outcome,
        version: CatalogVersion(known + later),
    };
    let removed = || Err("removed".to_owned());
    let as_itself = joined(1, 0, Ok(registered(1, 2)));
    assert_eq!(refused_before_the_first_catalog(as_itself), (None, false));
    // It had asked once more before it heard that it had been taken in, and was removed in between.
    let as_another = joined(1, 2, Ok(registered(2, 3)));
    let expected = (Some(NodeId(2)), false);
    assert_eq!(refused_before_the_first_catalog(as_another), expected);
    let late = joined(1, 0, Ok(registered(0, 1)));
    assert_eq!(refused_before_the_first_catalog(late), (None, false));
    let is_removed = joined(1, 1, removed());
    assert_eq!(refused_before_the_first_catalog(is_removed), (None, true));
    let earlier_process = joined(7, 1, removed());
    assert_eq!(
        refused_before_the_first_catalog(earlier_process),
        (None, false)
    );
}

/// Node 0, which is alone and has to be elected first.
fn alone(common: &Common<Alone>) -> ClusterMember {
    let recovered = Consensus::bootstrap(raft_id(NodeId(0)), founded().encode());
    ClusterMember::new(NodeId(0), recovered, common).unwrap()
}

/// What the leader tells node 1, which asks in that run: whether it was removed, whether it is taken in; and how many nodes
/// there are then.
fn ask_leader(
    leader: &mut ClusterMember,
    common: &mut Common<Alone>,
    cluster: Option<ClusterId>,
    run: u64,
) -> (bool, bool, Option<usize>) {
    let join = Message::ToLeader(ToLeader::Join(Join {
        cluster,
        after: None,
        registration: registration(2, run),
    }));
    for _ in 0..1_000 {
        common.host.answers.clear();
        leader.on_message(&Source::Arrived(1), join.clone(), common);
        settle_alone(leader, common);
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
        leader.on_tick(common);
        leader.settle(common);
    }
    panic!("nobody answers");
}

/// Stores what is to be stored, until there is nothing more.
fn settle_alone(leader: &mut ClusterMember, common: &mut Common<Alone>) {
    leader.settle(common);
    for number in std::mem::take(&mut common.host.persisted) {
        leader.on_report(&Report::Stored(number));
        leader.settle(common);
    }
}

#[test]
fn node_that_was_removed_is_not_taken_in_as_another_one() {
    let mut common = common(1, 1);
    let mut leader = alone(&common);
    let mut ask = |cluster| ask_leader(&mut leader, &mut common, cluster, 2);
    assert_eq!(ask(Some(ClusterId(1))), (true, false, Some(1)));
    assert_eq!(ask(None), (false, true, Some(2)));
}

/// It asked more than once before it heard that it had been taken in, and the last of that arrives when it was removed.
#[test]
fn late_request_of_a_node_that_was_removed_does_not_take_it_in_again() {
    let mut common = common(1, 1);
    let mut leader = alone(&common);
    let taken_in = ask_leader(&mut leader, &mut common, None, 2);
    assert_eq!(taken_in, (false, true, Some(2)));
    let removal = Change::RemoveNode {
        node: NodeId(1),
        force: false,
    };
    let origin = ChangeOrigin { brick: 0, token: 1 };
    leader.on_change(origin, removal, &mut common);
    for _ in 0..1_000 {
        if leader.catalog().is_some_and(|it| it.nodes().len() == 1) {
            break;
        }
        settle_alone(&mut leader, &mut common);
    }
    assert_eq!(leader.catalog().map(|it| it.nodes().len()), Some(1));
    let late = ask_leader(&mut leader, &mut common, None, 2);
    assert_eq!(late, (true, false, Some(1)));
    let next_process = ask_leader(&mut leader, &mut common, None, 3);
    assert_eq!(next_process, (false, true, Some(2)), "nobody knows it");
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
    let mut seen = |run: u64, incarnation: u64| {
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
    assert_eq!(seen(1, 9), None, "an earlier process asked");
    assert_eq!(seen(2, 9), Some(9));
    assert_eq!(seen(2, 8), None, "it said so already, and knows better");
}
