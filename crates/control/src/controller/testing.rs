//! A cluster around one controller, with a catalog that applies what is proposed and nodes that do as they
//! are told, unless a test says otherwise.

use super::{Controller, LogEnds};
use crate::config::ControlConfig;
use crate::membership::{Membership, MembershipChange};
use crate::message::{
    BrickState, LeaseGrant, LeaseRequest, LogReport, LogSummary, PromoteAsk, ToNode,
};
use crate::output::{ControlOutput, ProposalToken};
use brickyard_metadata::{
    Addresses, Catalog, CatalogVersion, Change, ClusterId, Genesis, Machine, NewTable, NodeKey,
    Proposal, Registration, Roles,
};
use brickyard_routing::{Group, Member, NodeId, Replica};
use brickyard_types::{
    BrickId, Durability, Incarnation, Instant, Op, PartitionId, TableAttributes, TableId,
    UnixMillis, View,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How often everything moves on.
const TICK: Duration = Duration::from_millis(50);

/// The table that tests look at.
pub(crate) const TABLE: TableId = TableId(2);

/// A node, as far as the control plane meets it.
#[derive(Clone, Debug)]
pub(crate) struct TestNode {
    pub(crate) registration: Registration,
    pub(crate) incarnation: Incarnation,
    /// It asks for its lease.
    pub(crate) is_up: bool,
    pub(crate) is_turning: bool,
    /// It acknowledges versions up to here only.
    pub(crate) stops_at: CatalogVersion,
    pub(crate) accepts_at: CatalogVersion,
    pub(crate) summaries: Vec<LogSummary>,
    pub(crate) grants: Vec<(Instant, LeaseGrant)>,
    asked_at: Option<Instant>,
}

pub(crate) struct World {
    pub(crate) catalog: Catalog,
    pub(crate) controller: Controller,
    pub(crate) nodes: Vec<TestNode>,
    pub(crate) now: Instant,
    pub(crate) config: ControlConfig,
    pub(crate) membership: Membership,
    pub(crate) log: LogEnds,
    /// A majority answers.
    pub(crate) has_quorum: bool,
    /// Proposals are kept for the test to look at.
    pub(crate) holds_proposals: bool,
    pub(crate) held: Vec<(ProposalToken, Change)>,
    /// All that was proposed.
    pub(crate) proposed: Vec<Change>,
    pub(crate) sent: Vec<(NodeId, ToNode)>,
    pub(crate) steps: Vec<MembershipChange>,
    pub(crate) transfers: Vec<NodeId>,
}

pub(crate) fn registration(number: u8) -> Registration {
    Registration {
        key: NodeKey([number; 20]),
        run: u64::from(number) + 1,
        addresses: Addresses {
            host: format!("node-{number}"),
            port: 7_000,
            bricks: vec![7_001],
            peer_port: 7_100,
            http_port: None,
        },
        bricks: 1,
        weight: 1,
        zone: None,
        roles: Roles::default(),
        machine: Machine {
            machine: format!("machine-{number}"),
            boot: "boot-1".to_owned(),
            directory: (1, 2),
        },
    }
}

pub(crate) fn replica(node: u32, incarnation: u64) -> Replica {
    Replica {
        member: Member {
            node: NodeId(node),
            brick: BrickId(0),
        },
        incarnation: Incarnation(incarnation),
    }
}

/// Nodes register in order, so each one's first life has its number plus one.
pub(crate) fn first(node: u32) -> Replica {
    replica(node, u64::from(node) + 1)
}

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

impl World {
    /// So many nodes of one brick each; a table of `partitions` on the first `replicas` of them, node 0 the
    /// primary of all if there is one partition.
    pub(crate) fn new(nodes: u8, replicas: u8, partitions: u32) -> Self {
        Self::with(nodes, replicas, partitions, |_| ())
    }

    pub(crate) fn with(
        nodes: u8,
        replicas: u8,
        partitions: u32,
        change: impl FnOnce(&mut TableAttributes),
    ) -> Self {
        Self::of(nodes, 1, replicas, partitions, change)
    }

    /// The same with so many bricks on each node.
    pub(crate) fn of(
        nodes: u8,
        bricks: u32,
        replicas: u8,
        partitions: u32,
        change: impl FnOnce(&mut TableAttributes),
    ) -> Self {
        let registration = |number| {
            let mut registration = registration(number);
            registration.bricks = bricks;
            registration.addresses.bricks = (0..bricks as u16).map(|it| 7_001 + it).collect();
            registration
        };
        let mut catalog = Catalog::found(Genesis {
            cluster: ClusterId(7),
            node: registration(0),
            attributes: TableAttributes::default(),
            partitions: Some(bricks.next_power_of_two()),
            seed: 1,
            created: UnixMillis(1),
        })
        .unwrap();
        for number in 1..nodes {
            let change = Change::Register(registration(number));
            catalog.apply(change).unwrap();
        }
        // The tests are about their own table.
        let mut new = NewTable::named("t", 1, UnixMillis(1));
        new.attributes.replicas = replicas;
        change(&mut new.attributes);
        new.partitions = Some(partitions.max(u32::from(nodes)).next_power_of_two());
        catalog.apply(Change::CreateTable(new)).unwrap();
        let started = Instant(1_000_000_000_000);
        let nodes = catalog.nodes().map(|node| TestNode {
            registration: node.registration.clone(),
            incarnation: node.incarnation,
            is_up: true,
            is_turning: true,
            stops_at: CatalogVersion(u64::MAX),
            accepts_at: CatalogVersion(u64::MAX),
            summaries: Vec::new(),
            grants: Vec::new(),
            asked_at: None,
        });
        let nodes: Vec<TestNode> = nodes.collect();
        let config = ControlConfig::default();
        let ids = (0..nodes.len() as u32).map(NodeId);
        let membership = Membership {
            voters: ids
                .clone()
                .take(if nodes.len() < 3 { 1 } else { 3 })
                .collect(),
            learners: ids
                .clone()
                .skip(if nodes.len() < 3 { 1 } else { 3 })
                .collect(),
            caught_up: ids.collect(),
        };
        let controller = Controller::new(
            config.clone(),
            NodeId(0),
            5,
            started,
            started,
            Arc::new(catalog.clone()),
            membership.clone(),
        );
        Self {
            catalog,
            controller,
            nodes,
            now: started,
            config,
            membership,
            log: LogEnds {
                proposed: 10,
                applied: 10,
            },
            has_quorum: true,
            holds_proposals: false,
            held: Vec::new(),
            proposed: Vec::new(),
            sent: Vec::new(),
            steps: Vec::new(),
            transfers: Vec::new(),
        }
    }

    /// Another leader, on node 0 again, elected now.
    pub(crate) fn elect(&mut self) {
        self.controller = Controller::new(
            self.config.clone(),
            NodeId(0),
            self.controller.leases.term() + 1,
            self.now,
            self.now,
            Arc::new(self.catalog.clone()),
            self.membership.clone(),
        );
        self.held.clear();
    }

    /// Time goes on.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now = self.now + TICK.min(until - self.now);
            self.tick();
        }
    }

    /// Time goes on until `is_so`, for 20 seconds at most.
    #[track_caller]
    pub(crate) fn run_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let until = self.now + Duration::from_secs(20);
        while !is_so(self) {
            assert!(self.now < until, "not within 20 s: {:?}", self.groups());
            self.run(TICK);
        }
    }

    /// Nothing is decided any more, and the plan, which operators are shown, has nothing left to do either.
    #[track_caller]
    pub(crate) fn rest(&mut self) {
        let proposed = self.proposed.len();
        self.run(Duration::from_secs(20));
        assert_eq!(self.proposed.len(), proposed, "it does not rest");
        let plan = self.catalog.plan(&BTreeSet::new());
        assert_eq!(plan.moves(&self.catalog), []);
    }

    pub(crate) fn tick(&mut self) {
        for node in 0..self.nodes.len() {
            let is_due = |at: Instant| self.now - at >= self.config.renew;
            if self.nodes[node].is_up && self.nodes[node].asked_at.is_none_or(is_due) {
                self.ask(node as u32);
            }
        }
        self.controller.run(self.now);
        self.carry_out();
    }

    /// A node asks for its lease, by the catalog as it is.
    pub(crate) fn ask(&mut self, node: u32) {
        let version = self.catalog.version();
        let now = self.now;
        let it = &mut self.nodes[node as usize];
        it.asked_at = Some(now);
        let state = BrickState {
            is_turning: it.is_turning,
            stopped: version.min(it.stops_at),
            accepted: version.min(it.stops_at).min(it.accepts_at),
        };
        let request = LeaseRequest {
            node: NodeId(node),
            incarnation: it.incarnation,
            sent_at: now.0,
            bricks: vec![state; it.registration.bricks as usize],
        };
        self.controller.on_lease_request(now, request);
        self.controller.run(now);
        self.carry_out();
    }

    pub(crate) fn carry_out(&mut self) {
        while let Some(output) = self.controller.poll() {
            match output {
                ControlOutput::Round(token) if self.has_quorum => {
                    self.controller.on_quorum(self.now, token);
                }
                ControlOutput::Round(token) => self.controller.on_quorum_lost(token),
                ControlOutput::Propose(token, change) => {
                    self.proposed.push(change.clone());
                    if self.holds_proposals {
                        self.held.push((token, change));
                    } else {
                        self.apply(token, change);
                    }
                }
                ControlOutput::Membership(step) => self.steps.push(step),
                ControlOutput::TransferLeader(node) => self.transfers.push(node),
                ControlOutput::Send(node, message) => self.deliver(node, message),
            }
        }
    }

    pub(crate) fn apply(&mut self, token: ProposalToken, change: Change) {
        let outcome = self
            .catalog
            .apply(change)
            .map_err(|error| error.to_string());
        let catalog = Arc::new(self.catalog.clone());
        self.controller.on_catalog(self.now, catalog);
        self.controller.on_outcome(self.now, token, &outcome);
    }

    /// A change that somebody else asked for.
    pub(crate) fn change(&mut self, change: Change) {
        self.catalog.apply(change).unwrap();
        let catalog = Arc::new(self.catalog.clone());
        self.controller.on_catalog(self.now, catalog);
        self.controller.run(self.now);
        self.carry_out();
    }

    fn deliver(&mut self, to: NodeId, message: ToNode) {
        let node = &mut self.nodes[to.0 as usize];
        match &message {
            ToNode::Grant(grant) => node.grants.push((self.now, grant.clone())),
            ToNode::Report(request) if node.is_up => {
                assert_eq!(request.incarnation, node.incarnation);
                let report = LogReport {
                    replica: replica(to.0, request.incarnation.0),
                    summaries: node.summaries.clone(),
                    is_last: true,
                };
                self.controller.on_report(report);
            }
            _ => {}
        }
        self.sent.push((to, message));
    }

    /// Another node joins.
    pub(crate) fn join(&mut self) -> Replica {
        let number = self.nodes.len() as u8;
        let registration = registration(number);
        let change = Change::Register(registration.clone());
        let applied = self.catalog.apply(change).unwrap();
        let registered = applied.registered.unwrap();
        self.nodes.push(TestNode {
            registration,
            incarnation: registered.incarnation,
            is_up: true,
            is_turning: true,
            stops_at: CatalogVersion(u64::MAX),
            accepts_at: CatalogVersion(u64::MAX),
            summaries: Vec::new(),
            grants: Vec::new(),
            asked_at: None,
        });
        self.membership.learners.insert(registered.node);
        self.controller.on_membership(self.membership.clone());
        let catalog = Arc::new(self.catalog.clone());
        self.controller.on_catalog(self.now, catalog);
        replica(registered.node.0, registered.incarnation.0)
    }

    /// A node starts again, at once.
    pub(crate) fn restart(&mut self, node: u32) -> Replica {
        self.restart_with(node, |_| ())
    }

    pub(crate) fn restart_with(
        &mut self,
        node: u32,
        change: impl FnOnce(&mut Registration),
    ) -> Replica {
        let it = &mut self.nodes[node as usize];
        it.registration.run += 1_000;
        change(&mut it.registration);
        it.incarnation = Incarnation(0);
        let change = Change::Register(it.registration.clone());
        let applied = self.catalog.apply(change).unwrap();
        let incarnation = applied.registered.unwrap().incarnation;
        let it = &mut self.nodes[node as usize];
        it.incarnation = incarnation;
        it.is_up = true;
        it.asked_at = None;
        let catalog = Arc::new(self.catalog.clone());
        self.controller.on_catalog(self.now, catalog);
        replica(node, incarnation.0)
    }

    pub(crate) fn groups(&self) -> Vec<Group> {
        self.catalog.table("t").unwrap().map.groups().to_vec()
    }

    /// The table's first partition, whose primary is node 0 at first.
    pub(crate) fn group(&self) -> Group {
        self.groups().remove(0)
    }

    pub(crate) fn partition(&self) -> PartitionId {
        let table = self.catalog.table("t").unwrap();
        table.map.partitions().leaves()[0].partition
    }

    pub(crate) fn in_sync(&self) -> Vec<Replica> {
        self.group().in_sync().collect()
    }

    /// No change is under way.
    pub(crate) fn is_settled(&self) -> bool {
        self.groups().iter().all(|group| group.change.is_none())
    }

    /// Puts a change of the first partition under way, as if the controller had decided it.
    pub(crate) fn propose(&mut self, in_sync: &[Replica]) {
        let group = self.group();
        let proposal = Proposal::of(TABLE, self.partition(), &group, in_sync);
        let before = self.catalog.version();
        self.change(Change::from(vec![proposal]));
        assert!(self.catalog.version() > before, "the proposal is stale");
    }

    pub(crate) fn summary(&self, last: (u32, u64)) -> LogSummary {
        LogSummary {
            partition: self.partition(),
            generation: 1,
            committed: Op(0),
            last: (View(last.0), Op(last.1)),
            is_complete: true,
            is_tail_sure: true,
            is_end_cut: false,
            durability: Durability::Log,
        }
    }

    pub(crate) fn promote(&mut self, learner: Replica) {
        let group = self.group();
        let ask = PromoteAsk {
            table: TABLE,
            partition: self.partition(),
            view: group.view,
            primary: group.primary,
            learner,
        };
        self.controller.on_promote(ask);
    }

    /// Every learner catches up at once, and its primary asks for it.
    pub(crate) fn promote_all(&mut self) {
        self.promote_all_but(&BTreeSet::new());
    }

    pub(crate) fn promote_all_but(&mut self, stuck: &BTreeSet<PartitionId>) {
        let table = self.catalog.table("t").unwrap();
        let asks: Vec<PromoteAsk> = table
            .partitions()
            .filter(|(partition, group)| group.change.is_none() && !stuck.contains(partition))
            .filter_map(|(partition, group)| {
                Some(PromoteAsk {
                    table: TABLE,
                    partition,
                    view: group.view,
                    primary: group.primary,
                    learner: *group.learners.first()?,
                })
            })
            .collect();
        for ask in asks {
            self.controller.on_promote(ask);
        }
    }
}
