//! Random schedules of a whole control plane: clocks that run apart, requests, rounds and answers that are
//! late, leaders that were deposed and do not know it, nodes that restart, are cloned, hang, and act by old
//! maps. Whatever happens, nobody acts in a view that it was taken out of.

use crate::controller::testing::{registration, seat};
use crate::controller::{Controller, Membership, Output, ProposalToken};
use crate::message::{
    BrickState, Claim, EvictAsk, HeardQuery, LeaseRequest, PromoteAsk, Report, ToNode,
};
use crate::{Config, Heard, LoopState, NodeLease, RoundToken};
use brickyard_metadata::{Catalog, CatalogVersion, Change, ClusterId, Genesis, NewTable};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::{Durability, Incarnation, Instant, Op, TableAttributes, UnixMillis, View};
use std::sync::Arc;
use std::time::Duration;

const NODES: usize = 3;

struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next(count) == 0
    }
}

/// A running process of a node; a clone runs on beside its successor.
struct Process {
    node: usize,
    incarnation: Incarnation,
    lease: NodeLease,
    /// Which of all catalogs it acts by.
    adopted: usize,
    turns: u64,
    is_hung: bool,
}

struct Leader {
    node: usize,
    term: u64,
    controller: Controller,
    proposals: Vec<(ProposalToken, Change)>,
}

enum Late {
    Request(u64, LeaseRequest),
    Quorum(u64, RoundToken),
    To(usize, u64, ToNode),
    Heard(u64, NodeId, crate::message::HeardReply),
}

pub(super) struct Schedule {
    chance: Chance,
    now: Duration,
    catalogs: Vec<Arc<Catalog>>,
    processes: Vec<Process>,
    /// Each voter's term, which it keeps, and what it heard, which it does not.
    terms: [u64; NODES],
    heard: Vec<Heard>,
    leaders: Vec<Leader>,
    late: Vec<(Duration, Late)>,
    runs: u64,
    changes: usize,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let attributes = TableAttributes::default();
        let mut catalog = Catalog::found(Genesis {
            cluster: ClusterId(1),
            node: registration(0),
            attributes,
            partitions: Some(1),
            seed: 1,
            created: UnixMillis(1),
        })
        .unwrap();
        for node in 1..NODES {
            catalog
                .apply(Change::Register(registration(node as u8)))
                .unwrap();
        }
        let mut new = NewTable::named("t", 1, UnixMillis(1));
        new.attributes.replicas = 3;
        new.attributes.durability = Durability::Fsync;
        new.partitions = Some(4);
        catalog.apply(Change::CreateTable(new)).unwrap();
        let mut schedule = Self {
            chance: Chance(seed * 2 + 1),
            now: Duration::from_secs(100),
            catalogs: vec![Arc::new(catalog)],
            processes: Vec::new(),
            terms: [0; NODES],
            heard: Vec::new(),
            leaders: Vec::new(),
            late: Vec::new(),
            runs: 10_000,
            changes: 0,
        };
        for node in 0..NODES {
            let heard = Heard::new(schedule.clock(node));
            schedule.heard.push(heard);
            schedule.start(node, Incarnation(node as u64 + 1));
        }
        schedule
    }

    /// The clock of a node: they differ in rate by up to 1 %.
    fn clock(&self, node: usize) -> Instant {
        let rate = [1_000, 1_004, 995][node];
        Instant((self.now.as_nanos() as u64) / 1_000 * rate)
    }

    fn catalog(&self) -> &Arc<Catalog> {
        self.catalogs.last().unwrap()
    }

    fn start(&mut self, node: usize, incarnation: Incarnation) {
        let now = self.clock(node);
        let id = NodeId(node as u32);
        let lease = NodeLease::new(Config::default(), id, incarnation, 1, now);
        self.processes.push(Process {
            node,
            incarnation,
            lease,
            adopted: self.catalogs.len() - 1,
            turns: 0,
            is_hung: false,
        });
    }

    /// A majority elects a node; of the leader before it, what was proposed may or may not come about.
    fn elect(&mut self) {
        let node = self.chance.next(NODES as u64) as usize;
        let left_out = self.chance.next(NODES as u64) as usize;
        let term = self.terms.iter().max().unwrap() + 1;
        if let Some(mut before) = self.leaders.pop() {
            for (_, change) in std::mem::take(&mut before.proposals) {
                if self.chance.one_in(2) {
                    self.apply(change);
                }
            }
            self.leaders.push(before);
        }
        for voter in 0..NODES {
            if voter != left_out || voter == node {
                self.terms[voter] = term;
            }
        }
        let voters = (0..NODES as u32).map(NodeId).collect();
        let membership = Membership {
            voters,
            ..Membership::default()
        };
        let now = self.clock(node);
        let catalog = Arc::clone(self.catalog());
        let me = NodeId(node as u32);
        let config = Config::default();
        let controller = Controller::new(config, me, term, now, now, catalog, membership);
        self.leaders.push(Leader {
            node,
            term,
            controller,
            proposals: Vec::new(),
        });
        if self.leaders.len() > 3 {
            self.leaders.remove(0);
        }
    }

    fn apply(&mut self, change: Change) {
        let mut next = Catalog::clone(self.catalog());
        if next.apply(change).is_ok() && next.version() > self.catalog().version() {
            self.changes += 1;
            self.catalogs.push(Arc::new(next));
        }
    }

    /// One of the proposals of the present leader comes about.
    fn commit(&mut self) {
        let Some(mut leader) = self.leaders.pop() else {
            return;
        };
        if leader.proposals.is_empty() {
            self.leaders.push(leader);
            return;
        }
        let (token, change) = leader.proposals.remove(0);
        let outcome = if self.chance.one_in(10) {
            Err("lost".to_owned())
        } else {
            let applied = Catalog::clone(self.catalog()).apply(change.clone());
            self.apply(change);
            applied.map_err(|error| error.to_string())
        };
        let now = self.clock(leader.node);
        leader
            .controller
            .on_catalog(now, Arc::clone(self.catalog()));
        leader.controller.on_outcome(now, token, &outcome);
        self.leaders.push(leader);
    }

    fn restart(&mut self) {
        let node = self.chance.next(NODES as u64) as usize;
        let is_clone = self.chance.one_in(3);
        let catalog = Arc::clone(self.catalog());
        let current = catalog.node(NodeId(node as u32)).unwrap();
        let mut next = current.registration.clone();
        self.runs += 1;
        next.run = self.runs;
        if is_clone {
            next.machine.directory.1 += 1;
        } else {
            let incarnation = current.incarnation;
            self.processes
                .retain(|it| it.node != node || it.incarnation != incarnation);
        }
        self.apply(Change::Register(next));
        let incarnation = self
            .catalog()
            .node(NodeId(node as u32))
            .unwrap()
            .incarnation;
        self.start(node, incarnation);
        let now = self.clock(node);
        self.heard[node] = Heard::new(now);
        if let Some(mut leader) = self.leaders.pop() {
            let now = self.clock(leader.node);
            leader
                .controller
                .on_catalog(now, Arc::clone(self.catalog()));
            self.leaders.push(leader);
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_micros(self.chance.next(80_000));
        match self.chance.next(200) {
            0 => self.elect(),
            1 => self.restart(),
            2..12 => self.ask(),
            12 => {
                let at = self.chance.next(self.processes.len() as u64) as usize;
                self.processes[at].is_hung ^= true;
            }
            _ => {}
        }
        if self.leaders.is_empty() {
            self.elect();
        }
        if self.chance.one_in(2) {
            self.commit();
        }
        for at in 0..self.processes.len() {
            self.turn(at);
        }
        self.deliver();
        for at in 0..self.leaders.len() {
            let now = self.clock(self.leaders[at].node);
            self.leaders[at].controller.run(now);
            self.carry_out(at);
        }
        self.check();
    }

    /// A primary asks for the promotion of its learner, or for a backup to be taken out.
    fn ask(&mut self) {
        let catalog = Arc::clone(self.catalog());
        let table = catalog.table("t").unwrap();
        let Some(leader) = self.leaders.last_mut() else {
            return;
        };
        for (partition, group) in table.partitions() {
            let (view, primary) = (group.view, group.primary);
            if let Some(learner) = group.learners.first() {
                leader.controller.on_promote(PromoteAsk {
                    table: table.id,
                    partition,
                    view,
                    primary,
                    learner: *learner,
                });
            } else if let Some(backup) = group.backups.first()
                && self.chance.one_in(20)
            {
                leader.controller.on_evict(EvictAsk {
                    table: table.id,
                    partition,
                    view,
                    primary,
                    backup: *backup,
                });
            }
        }
    }

    /// A process goes on: it may take over a newer map, and ask for its lease.
    fn turn(&mut self, at: usize) {
        let newest = self.catalogs.len() - 1;
        let adopts = self.chance.one_in(3);
        let asks = self.chance.one_in(3);
        let late = self.lateness();
        let is_slow = self.chance.one_in(4);
        let clock = self.clock(self.processes[at].node);
        let process = &mut self.processes[at];
        if !process.is_hung {
            process.turns += 1;
            if adopts && !is_slow {
                process.adopted = newest;
            }
        }
        if asks {
            let version = self.catalogs[process.adopted].version();
            let state = LoopState {
                turns: process.turns,
                stopped: version,
                accepted: version,
            };
            let request = process.lease.request(clock, &[state]);
            for leader in &self.leaders {
                let message = Late::Request(leader.term, request.clone());
                self.late.push((self.now + late, message));
            }
        }
    }

    fn lateness(&mut self) -> Duration {
        let most = if self.chance.one_in(20) { 3_000 } else { 20 };
        Duration::from_millis(self.chance.next(most))
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, late): (Vec<_>, Vec<_>) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.late = late;
        for (_, message) in due {
            match message {
                Late::Request(term, request) => {
                    if let Some(at) = self.leader(term) {
                        let now = self.clock(self.leaders[at].node);
                        self.leaders[at].controller.on_lease_request(now, request);
                    }
                }
                Late::Quorum(term, token) => {
                    if let Some(at) = self.leader(term) {
                        let now = self.clock(self.leaders[at].node);
                        self.leaders[at].controller.on_quorum(now, token);
                    }
                }
                Late::Heard(term, from, reply) => {
                    if let Some(at) = self.leader(term) {
                        let now = self.clock(self.leaders[at].node);
                        self.leaders[at].controller.on_heard(now, from, reply);
                    }
                }
                Late::To(node, term, message) => self.receive(node, term, &message),
            }
        }
    }

    fn leader(&self, term: u64) -> Option<usize> {
        self.leaders.iter().position(|leader| leader.term == term)
    }

    fn receive(&mut self, node: usize, term: u64, message: &ToNode) {
        let clock = self.clock(node);
        match message {
            ToNode::Grant(grant) => {
                for process in self.processes.iter_mut().filter(|it| it.node == node) {
                    process.lease.on_grant(grant, clock);
                }
            }
            ToNode::Heard(HeardQuery { term: asked }) => {
                self.terms[node] = self.terms[node].max(*asked);
                let query = HeardQuery { term: *asked };
                if let Some(reply) = self.heard[node].answer(query, self.terms[node], clock) {
                    let late = self.lateness();
                    let message = Late::Heard(term, NodeId(node as u32), reply);
                    self.late.push((self.now + late, message));
                }
            }
            ToNode::Report(request) => {
                let catalog = Arc::clone(self.catalog());
                let table = catalog.table("t").unwrap();
                let claims = table.partitions().map(|(partition, group)| Claim {
                    partition,
                    lineage: group.lineage,
                    committed: Op(0),
                    last: (View(1), Op(1)),
                    is_complete: true,
                    is_tail_sure: true,
                    durability: Durability::Fsync,
                });
                let report = Report {
                    seat: seat(node as u32, request.incarnation.0),
                    claims: claims.collect(),
                    is_last: true,
                };
                if let Some(at) = self.leader(term) {
                    self.leaders[at].controller.on_report(report);
                }
            }
            _ => {}
        }
    }

    fn carry_out(&mut self, at: usize) {
        let (node, term) = (self.leaders[at].node, self.leaders[at].term);
        while let Some(output) = self.leaders[at].controller.poll() {
            match output {
                Output::Round(token) => {
                    // Those in a later term do not answer; those who answer are in this one from then on.
                    let clock = self.clock(node);
                    self.heard[node].on_leader(term, clock);
                    let mut count = 0;
                    for voter in 0..NODES {
                        if self.terms[voter] <= term && (voter == node || !self.chance.one_in(5)) {
                            count += 1;
                            self.terms[voter] = term;
                            let clock = self.clock(voter);
                            self.heard[voter].on_leader(term, clock);
                        }
                    }
                    if count > NODES / 2 {
                        let late = self.lateness();
                        self.late.push((self.now + late, Late::Quorum(term, token)));
                    }
                }
                Output::Propose(token, change) => self.leaders[at].proposals.push((token, change)),
                Output::Send(to, message) => {
                    let late = self.lateness();
                    let message = Late::To(to.0 as usize, term, message);
                    self.late.push((self.now + late, message));
                }
                Output::Membership(_) | Output::TransferLeader(_) => {}
            }
        }
        // A deposed leader's proposals come to nothing.
        if at + 1 < self.leaders.len() {
            self.leaders[at].proposals.clear();
        }
    }

    /// Nobody acts in a view that it was taken out of.
    fn check(&self) {
        let truth = self.catalog();
        for process in &self.processes {
            let map = &self.catalogs[process.adopted];
            let me = seat(process.node as u32, process.incarnation.0);
            let until = process.lease.until(0, map.version());
            if self.clock(process.node) >= until {
                continue;
            }
            for (table, own) in truth.tables().zip(map.tables()) {
                for ((partition, group), (_, own)) in table.partitions().zip(own.partitions()) {
                    let fenced = own.change.iter().flat_map(|change| &change.fenced);
                    let acts =
                        own.in_sync().any(|it| it == me) && !fenced.copied().any(|it| it == me);
                    let may = group.in_sync().any(|it: Seat| it == me);
                    assert!(
                        !acts || may,
                        "{me} acts in view {} of {partition} at {:?}, and {group:?} is in effect",
                        own.view,
                        self.now,
                    );
                }
            }
        }
    }
}

pub(super) fn run(seed: u64, steps: usize) -> Schedule {
    let mut schedule = Schedule::new(seed);
    for _ in 0..steps {
        schedule.step();
    }
    schedule
}

#[test]
fn nobody_acts_in_a_view_that_it_was_taken_out_of() {
    let mut changes = 0;
    for seed in 0..40 {
        changes += run(seed, 1_500).changes;
    }
    // And it is not for want of trying.
    assert!(changes > 2_000, "{changes}");
}

#[test]
fn same_seed_gives_the_same_run() {
    let [one, two] = [run(7, 600), run(7, 600)].map(|it| it.catalog().encode());
    assert_eq!(one, two);
    let state = BrickState::default();
    assert_eq!(state.stopped, CatalogVersion(0));
}
