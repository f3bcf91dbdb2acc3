//! Nodes of a test: what they put out, what they store, and the messages between them.

use crate::consensus::Consensus;
use crate::state::{EntryKind, LogEntry, RecoveredState};
use crate::wire;
use crate::{ConfChange, ConsensusConfig, ConsensusOutput, Persist, Rejected};
use raft::eraftpb::MessageType;

/// A node and what it put out.
pub(crate) struct Bench {
    pub(crate) consensus: Consensus,
    /// Report as stored at once.
    pub(crate) stores: bool,
    pub(crate) outputs: Vec<ConsensusOutput>,
}

impl Bench {
    pub(crate) fn new(id: u64, recovered: RecoveredState) -> Self {
        Self {
            consensus: Consensus::new(ConsensusConfig::new(id, 1), recovered).unwrap(),
            stores: true,
            outputs: Vec::new(),
        }
    }

    /// Time goes on until a leader is heard.
    pub(crate) fn until_heartbeat(&mut self) {
        let ticks = ConsensusConfig::new(1, 1).heartbeat_ticks;
        for _ in 0..ticks {
            self.consensus.tick();
        }
    }

    /// What the node does now.
    pub(crate) fn drain(&mut self) -> Vec<ConsensusOutput> {
        let mut drained = Vec::new();
        while let Some(output) = self.consensus.poll() {
            if let ConsensusOutput::Persist(persist) = &output
                && self.stores
            {
                self.consensus.on_persisted(persist.number);
            }
            drained.push(output);
        }
        self.outputs.extend(drained.iter().cloned());
        drained
    }

    pub(crate) fn sent(outputs: &[ConsensusOutput]) -> Vec<(u64, Vec<u8>)> {
        let sent = outputs.iter().filter_map(|output| match output {
            ConsensusOutput::Send { to, message } => Some((*to, message.clone())),
            _ => None,
        });
        sent.collect()
    }

    pub(crate) fn stored(outputs: &[ConsensusOutput]) -> Vec<Persist> {
        let stored = outputs.iter().filter_map(|output| match output {
            ConsensusOutput::Persist(persist) => Some(persist.clone()),
            _ => None,
        });
        stored.collect()
    }
}

pub(crate) fn change(index: u64, change: ConfChange) -> LogEntry {
    LogEntry {
        index,
        term: 1,
        kind: EntryKind::Membership,
        data: change.encode(),
    }
}

/// What a node of `id` finds after these changes, all known to be committed.
pub(crate) fn recovered(changes: &[ConfChange]) -> RecoveredState {
    let mut recovered = Consensus::bootstrap(1, vec![9]);
    for (index, it) in (2..).zip(changes) {
        recovered.entries.push(change(index, *it));
        recovered.hard_state.commit = index;
    }
    recovered
}

pub(crate) fn with_voters(voters: &[u64]) -> RecoveredState {
    let mut recovered = Consensus::bootstrap(1, vec![9]);
    recovered.snapshot.as_mut().unwrap().voters = voters.to_vec();
    recovered
}

/// Passes messages between two nodes until there are none.
pub(crate) fn converse(benches: &mut [&mut Bench]) {
    converse_but(benches, |_| false);
}

pub(crate) fn is_snapshot(message: &[u8]) -> bool {
    wire::decode(message).unwrap().get_msg_type() == MessageType::MsgSnapshot
}

/// The same, where some are lost.
pub(crate) fn converse_but(benches: &mut [&mut Bench], is_lost: impl Fn(&[u8]) -> bool) {
    loop {
        let mut packets = Vec::new();
        for bench in benches.iter_mut() {
            let from = bench.consensus.config.id;
            for (to, message) in Bench::sent(&bench.drain()) {
                packets.push((to, from, message));
            }
        }
        if packets.is_empty() {
            return;
        }
        for (to, from, message) in packets {
            let receiver = benches
                .iter_mut()
                .find(|bench| bench.consensus.config.id == to && !is_lost(&message));
            if let Some(receiver) = receiver {
                let stepped = receiver.consensus.step(from, &message);
                // Who is asked to stand may have something to store yet.
                assert!(
                    matches!(stepped, Ok(()) | Err(Rejected::Busy)),
                    "{stepped:?}"
                );
            }
        }
    }
}

/// Two voters, of which the first leads.
pub(crate) fn pair() -> (Bench, Bench) {
    let mut one = Bench::new(1, with_voters(&[1, 2]));
    let mut two = Bench::new(2, with_voters(&[1, 2]));
    one.consensus.campaign();
    converse(&mut [&mut one, &mut two]);
    assert!(one.consensus.is_settled());
    (one, two)
}

/// Three voters, of which the first leads.
pub(crate) fn trio() -> [Bench; 3] {
    let mut all = [1, 2, 3].map(|id| Bench::new(id, with_voters(&[1, 2, 3])));
    all[0].consensus.campaign();
    let [one, two, three] = &mut all;
    converse(&mut [one, two, three]);
    assert!(all.iter().all(|it| it.consensus.leader() == Some(1)));
    all
}
