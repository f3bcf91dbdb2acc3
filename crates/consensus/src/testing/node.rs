//! A node of the tests: its agreement, its disk, and a state machine that sums up its history.

use super::random::digest;
use super::{Disk, Random};
use crate::{Consensus, ConsensusConfig, Persist};
use std::collections::VecDeque;

pub(crate) struct Node {
    pub(crate) id: u64,
    pub(crate) seed: u64,
    pub(crate) disk: Disk,
    /// When it will be stored, and what.
    pub(crate) writing: VecDeque<(u64, Persist)>,
    pub(crate) machine: Machine,
    /// `None`: it is down.
    pub(crate) consensus: Option<Consensus>,
}

/// The state after a history: equal histories, equal states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) digest: u64,
    pub(crate) count: u64,
}

impl Machine {
    pub(crate) fn apply(&mut self, index: u64, data: &[u8]) {
        self.digest = digest(self.digest ^ index, data);
        self.count += 1;
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        [self.digest.to_le_bytes(), self.count.to_le_bytes()].concat()
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        Self {
            digest: number(0),
            count: number(8),
        }
    }
}

pub(crate) fn config(id: u64, seed: u64) -> ConsensusConfig {
    ConsensusConfig {
        snapshot_after_entries: 40,
        entries_kept: 8,
        snapshot_ticks: 30,
        message_bytes_max: 256,
        in_flight_max: 8,
        ..ConsensusConfig::new(id, seed)
    }
}

impl Node {
    pub(crate) fn new(id: u64, seed: u64, disk: Disk) -> Self {
        Self {
            id,
            seed,
            disk,
            writing: VecDeque::new(),
            machine: Machine::default(),
            consensus: None,
        }
    }

    pub(crate) fn start(&mut self) {
        let config = config(self.id, self.seed);
        self.machine = Machine::default();
        self.consensus = Some(Consensus::new(config, self.disk.recover()).unwrap());
    }

    pub(crate) fn crash(&mut self, random: &mut Random) {
        let writing = self.writing.drain(..).map(|(_, persist)| persist);
        self.disk.power_cut(writing.collect(), random);
        self.consensus = None;
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.consensus.as_ref().is_some_and(Consensus::is_leader)
    }
}
