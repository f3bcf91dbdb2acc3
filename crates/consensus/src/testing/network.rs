//! The network, its faults, and what must hold whatever they do.

use super::node::{Machine, Node};
use super::random::digest;
use super::{Disk, Random};
use crate::{ConfChange, Consensus, ConsensusOutput, RecoveredState};
use std::collections::{BTreeMap, BTreeSet};

/// Longer than any election takes.
const PAUSE_MAX: u64 = 120;

/// How often things go wrong: once in so many times; 0: never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loss: u64,
    pub(crate) twice: u64,
    pub(crate) delay_max: u64,
    pub(crate) write_delay_max: u64,
    pub(crate) slow_tick: u64,
    pub(crate) part: u64,
    pub(crate) crash: u64,
    /// A process stops for a while, and goes on as if nothing had been.
    pub(crate) pause: u64,
    pub(crate) change: u64,
    pub(crate) transfer: u64,
    /// Messages whose bytes are changed; nothing is expected any more then but that nobody falls over.
    pub(crate) spoil: u64,
}

pub(crate) struct Network {
    pub(crate) nodes: BTreeMap<u64, Node>,
    pub(crate) faults: Faults,
    pub(crate) random: Random,
    /// By time of arrival and order of sending: receiver, sender, message.
    packets: BTreeMap<(u64, u64), (u64, u64, Vec<u8>)>,
    sent: u64,
    pub(crate) time: u64,
    /// Ordered pairs that cannot reach one another.
    parted: BTreeSet<(u64, u64)>,
    /// Who is stopped, and until when.
    paused: BTreeMap<u64, u64>,
    /// What was applied anywhere.
    pub(crate) committed: BTreeMap<u64, (u64, Vec<u8>)>,
    /// The state after it.
    states: BTreeMap<u64, Machine>,
    /// Who led which term.
    leaders: BTreeMap<u64, u64>,
    /// Tokens, and the highest term that was led when they began.
    rounds: BTreeMap<u64, u64>,
    pub(crate) confirmed: u64,
    pub(crate) restored: u64,
    proposed: u64,
    /// Sums up all that happened.
    pub(crate) trace: u64,
}

impl Network {
    /// One node that leads, and others that wait to join.
    pub(crate) fn new(seed: u64, count: u64) -> Self {
        let mut nodes = BTreeMap::new();
        for id in 1..=count {
            let first = Consensus::bootstrap(1, Machine::default().bytes());
            let recovered = if id == 1 {
                first
            } else {
                RecoveredState::default()
            };
            let mut node = Node::new(id, seed, Disk::new(seed * 100 + id, recovered));
            node.start();
            nodes.insert(id, node);
        }
        Self {
            nodes,
            faults: Faults::default(),
            random: Random(seed),
            packets: BTreeMap::new(),
            sent: 0,
            time: 0,
            parted: BTreeSet::new(),
            paused: BTreeMap::new(),
            committed: BTreeMap::new(),
            states: BTreeMap::new(),
            leaders: BTreeMap::new(),
            rounds: BTreeMap::new(),
            confirmed: 0,
            restored: 0,
            proposed: 0,
            trace: 0,
        }
    }

    /// Lets so much time pass.
    pub(crate) fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// Lets time pass until something holds.
    pub(crate) fn run_until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        for _ in 0..4000 {
            if holds(self) {
                return;
            }
            self.step();
        }
        panic!("never so: {what}; {:?}", self.summary());
    }

    pub(crate) fn leader(&self) -> Option<u64> {
        let leading = self.nodes.values().filter(|node| node.is_leader());
        let term = |node: &&Node| node.consensus.as_ref().unwrap().term();
        leading.max_by_key(term).map(|node| node.id)
    }

    pub(crate) fn consensus(&mut self, id: u64) -> &mut Consensus {
        self.nodes.get_mut(&id).unwrap().consensus.as_mut().unwrap()
    }

    /// Makes voters of nodes, one after the other.
    pub(crate) fn grow(&mut self, voters: u64) {
        for id in 2..=voters {
            for change in [ConfChange::AddLearner(id), ConfChange::Promote(id)] {
                self.run_until("a node takes part", |network| {
                    let Some(leader) = network.leader() else {
                        return false;
                    };
                    let _ = network.consensus(leader).change_membership(change);
                    let consensus = network.consensus(leader);
                    match change {
                        ConfChange::Promote(_) => consensus.voters().contains(&id),
                        _ => consensus.learners().contains(&id),
                    }
                });
            }
        }
    }

    /// Ends all faults and waits until all members agree.
    pub(crate) fn heal(&mut self) {
        self.faults = Faults::default();
        self.parted.clear();
        self.paused.clear();
        let down = self.nodes.values_mut();
        for node in down.filter(|node| node.consensus.is_none()) {
            node.start();
        }
        self.propose();
        self.run_until("all members agree", |network| {
            if network.time.is_multiple_of(64) {
                network.propose();
            }
            let Some(leader) = network.leader() else {
                return false;
            };
            let consensus = network.consensus(leader);
            let members = [consensus.voters(), consensus.learners()].concat();
            let end = consensus.last_index();
            let is_settled = consensus.is_settled();
            let machine = network.nodes[&leader].machine;
            let agrees = |id: &u64| {
                let node = &network.nodes[id];
                node.machine == machine && node.consensus.as_ref().unwrap().applied() == end
            };
            is_settled && members.iter().all(agrees)
        });
        // Nothing that was committed is missing from what they agree on.
        let leader = self.leader().unwrap();
        let count = self.nodes[&leader].machine.count;
        assert_eq!(count, self.committed.len() as u64, "{:?}", self.summary());
    }

    /// Proposes something unheard of at a node that leads, if there is one.
    pub(crate) fn propose(&mut self) {
        self.proposed += 1;
        let mut data = self.proposed.to_le_bytes().to_vec();
        data.resize(8 + usize::try_from(self.random.below(100)).unwrap(), 7);
        let leading: Vec<u64> = self.leading();
        if let Some(id) = self.random.pick(&leading) {
            let _ = self.consensus(id).propose(data);
            self.drain(id);
        }
    }

    fn leading(&self) -> Vec<u64> {
        let leading = self.nodes.values().filter(|node| node.is_leader());
        let ids = leading.map(|node| node.id);
        ids.filter(|id| !self.paused.contains_key(id)).collect()
    }

    fn summary(&self) -> Vec<String> {
        let nodes = self.nodes.values();
        let line = |node: &Node| format!("{:?} {:?}", node.consensus, node.machine);
        nodes.map(line).collect()
    }

    fn step(&mut self) {
        self.time += 1;
        self.misbehave();
        self.go_on();
        while let Some(entry) = self.packets.first_entry() {
            if entry.key().0 > self.time {
                break;
            }
            let ((_, number), (to, from, message)) = entry.remove_entry();
            match self.paused.get(&to) {
                Some(until) => {
                    let late = (*until, number);
                    self.packets.insert(late, (to, from, message));
                }
                None => self.deliver(to, from, &message),
            }
        }
        let ids: Vec<u64> = self.nodes.keys().copied().collect();
        for id in ids {
            if self.paused.contains_key(&id) {
                continue;
            }
            self.store(id);
            if self.random.once_in(self.faults.slow_tick) {
                continue;
            }
            if let Some(consensus) = &mut self.nodes.get_mut(&id).unwrap().consensus {
                consensus.tick();
            }
            self.drain(id);
        }
        if self.random.once_in(3) {
            self.propose();
        }
        if self.random.once_in(10) {
            self.ask_quorum();
        }
    }

    fn misbehave(&mut self) {
        let ids: Vec<u64> = self.nodes.keys().copied().collect();
        let Faults {
            part,
            crash,
            pause,
            change,
            transfer,
            ..
        } = self.faults;
        if self.random.once_in(part) {
            self.parted.clear();
            let side = self.random.next();
            let is_there = |id: u64| side >> id & 1 == 1;
            for one in &ids {
                for other in ids
                    .iter()
                    .filter(|other| is_there(*one) != is_there(**other))
                {
                    self.parted.insert((*one, *other));
                }
            }
        }
        if self.random.once_in(part) {
            self.parted.clear();
        }
        if self.random.once_in(crash) {
            let id = self.random.pick(&ids).unwrap();
            let node = self.nodes.get_mut(&id).unwrap();
            if node.consensus.is_some() {
                node.crash(&mut self.random);
            } else {
                node.start();
                self.drain(id);
            }
        }
        if self.random.once_in(pause) {
            let id = self.random.pick(&ids).unwrap();
            let length = 1 + self.random.below(PAUSE_MAX);
            self.paused.entry(id).or_insert(self.time + length);
        }
        let leader = self.random.pick(&self.leading());
        if let Some(leader) = leader.filter(|_| self.random.once_in(change)) {
            let id = self.random.pick(&ids).unwrap();
            let change = match self.random.below(6) {
                0 => ConfChange::Remove(id),
                1 => ConfChange::Demote(id),
                2 | 3 => ConfChange::AddLearner(id),
                _ => ConfChange::Promote(id),
            };
            let _ = self.consensus(leader).change_membership(change);
            self.drain(leader);
        }
        if let Some(leader) = leader.filter(|_| self.random.once_in(transfer)) {
            let id = self.random.pick(&ids).unwrap();
            let _ = self.consensus(leader).transfer_leader(id);
            self.drain(leader);
        }
    }

    /// Whoever was stopped goes on; one that led may ask something before it hears what has come meanwhile.
    fn go_on(&mut self) {
        let time = self.time;
        let due: Vec<u64> = self
            .paused
            .extract_if(.., |_, until| *until <= time)
            .map(|it| it.0)
            .collect();
        for id in due {
            if self.nodes[&id].is_leader() && self.random.once_in(2) {
                self.ask_quorum_of(id);
            }
        }
    }

    fn ask_quorum(&mut self) {
        let leading = self.leading();
        if let Some(id) = self.random.pick(&leading) {
            self.ask_quorum_of(id);
        }
    }

    fn ask_quorum_of(&mut self, id: u64) {
        let token = self.rounds.len() as u64;
        let led = self.leaders.last_key_value().map_or(0, |(term, _)| *term);
        self.rounds.insert(token, led);
        self.consensus(id).confirm_quorum(token);
        self.drain(id);
    }

    fn deliver(&mut self, to: u64, from: u64, message: &[u8]) {
        let is_parted = self.parted.contains(&(from, to));
        let node = self.nodes.get_mut(&to).unwrap();
        if let Some(consensus) = node.consensus.as_mut().filter(|_| !is_parted) {
            if let Err(rejected) = consensus.step(from, message)
                && self.faults.spoil == 0
            {
                let rejected = format!("{rejected:?}");
                let is_usual = ["NotMember", "Busy", "only the leader"];
                let is_usual = is_usual.iter().any(|usual| rejected.contains(usual));
                assert!(is_usual, "{from} to {to}: {rejected}");
            }
            self.drain(to);
        }
    }

    /// Ends the writes of a node that are due.
    fn store(&mut self, id: u64) {
        let node = self.nodes.get_mut(&id).unwrap();
        while let Some((due, _)) = node.writing.front()
            && *due <= self.time
        {
            let (_, persist) = node.writing.pop_front().unwrap();
            let number = persist.number;
            node.disk.write(persist);
            node.consensus.as_mut().unwrap().on_persisted(number);
        }
        self.drain(id);
    }

    /// Does what a node asks for.
    pub(crate) fn drain(&mut self, id: u64) {
        while let Some(consensus) = &mut self.nodes.get_mut(&id).unwrap().consensus
            && let Some(output) = consensus.poll()
        {
            self.trace = digest(
                self.trace,
                format!("{} {id} {output:?}", self.time).as_bytes(),
            );
            self.obey(id, output);
        }
    }

    fn obey(&mut self, id: u64, output: ConsensusOutput) {
        let is_sane = self.faults.spoil == 0;
        let node = self.nodes.get_mut(&id).unwrap();
        let consensus = node.consensus.as_mut().unwrap();
        match output {
            ConsensusOutput::Send { to, message } => self.send(to, id, message),
            ConsensusOutput::Persist(persist) => {
                let delay = self.random.below(self.faults.write_delay_max + 1);
                let due = self.time + delay;
                let due = node.writing.back().map_or(due, |(last, _)| due.max(*last));
                node.writing.push_back((due, persist));
                if delay == 0 {
                    self.store(id);
                }
            }
            ConsensusOutput::Apply { index, term, data } => {
                node.machine.apply(index, &data);
                let state = *self.states.entry(index).or_insert(node.machine);
                assert!(
                    !is_sane || state == node.machine,
                    "node {id}'s history up to {index}"
                );
                let first = self
                    .committed
                    .entry(index)
                    .or_insert_with(|| (term, data.clone()));
                assert!(
                    !is_sane || *first == (term, data),
                    "node {id}'s entry {index}"
                );
            }
            ConsensusOutput::Restore(snapshot) => {
                self.restored += 1;
                node.machine = Machine::of(&snapshot.data);
                let before = self.states.range(..=snapshot.index).next_back();
                let before = before.map(|(_, state)| *state).unwrap_or_default();
                assert!(
                    !is_sane || before == node.machine,
                    "node {id}'s snapshot {snapshot:?}"
                );
            }
            ConsensusOutput::Leadership { leader, term } => {
                if leader == Some(id) {
                    let first = *self.leaders.entry(term).or_insert(id);
                    assert!(!is_sane || first == id, "two leaders in term {term}");
                }
            }
            ConsensusOutput::QuorumConfirmed(token) => {
                let led = self.rounds[&token];
                assert!(
                    !is_sane || consensus.term() >= led,
                    "{} confirmed, {led} led",
                    consensus.term()
                );
                self.confirmed += 1;
            }
            ConsensusOutput::SnapshotWanted => {
                let index = consensus.applied();
                consensus.compact(index, node.machine.bytes()).unwrap();
            }
            ConsensusOutput::QuorumLost(_) | ConsensusOutput::Membership { .. } => {}
        }
    }

    fn send(&mut self, to: u64, from: u64, mut message: Vec<u8>) {
        if self.random.once_in(self.faults.loss) || !self.nodes.contains_key(&to) {
            return;
        }
        if self.random.once_in(self.faults.spoil) {
            let bits = message.len() as u64 * 8;
            let bit = usize::try_from(self.random.below(bits)).unwrap();
            message[bit / 8] ^= 1 << (bit % 8);
        }
        let copies = 1 + u64::from(self.random.once_in(self.faults.twice));
        for _ in 0..copies {
            self.sent += 1;
            let arrival = self.time + 1 + self.random.below(self.faults.delay_max + 1);
            self.packets
                .insert((arrival, self.sent), (to, from, message.clone()));
        }
    }
}
