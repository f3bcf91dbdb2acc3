//! Any bytes as messages of the agreement, one after the other, for a node that leads and for one that is new: no
//! panic, whatever a member says.
//!
//! A message is what stands between two bytes of its length and the next one's; its first byte says who sent it.

use brickyard_consensus::{Consensus, ConsensusConfig, ConsensusOutput, Persist, RecoveredState};

/// See the module.
pub(super) fn run(input: &[u8]) {
    let Some((first, mut rest)) = input.split_first() else {
        return;
    };
    let recovered = if first & 1 == 0 {
        Consensus::bootstrap(1, vec![1, 2, 3])
    } else {
        RecoveredState::default()
    };
    let Ok(mut node) = Consensus::new(ConsensusConfig::new(1, 7), recovered) else {
        return;
    };
    drain(&mut node);
    while let [low, high, tail @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (message, tail) = tail.split_at(len);
        rest = tail;
        let Some((from, message)) = message.split_first() else {
            node.tick();
            drain(&mut node);
            continue;
        };
        // A refusal is an answer.
        drop(node.step(u64::from(*from), message));
        drain(&mut node);
    }
}

/// Stores what is to be stored, and forgets what is to be sent.
fn drain(node: &mut Consensus) {
    while let Some(output) = node.poll() {
        if let ConsensusOutput::Persist(Persist { number, .. }) = output {
            node.on_persisted(number);
        }
    }
}

/// What two nodes say to each other while the second joins the first.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let config = |id| ConsensusConfig::new(id, 7);
    let (Ok(mut leader), Ok(mut other)) = (
        Consensus::new(config(1), Consensus::bootstrap(1, vec![1, 2, 3])),
        Consensus::new(config(2), RecoveredState::default()),
    ) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let mut all = vec![0];
    for turn in 0..60 {
        if turn == 3 {
            let _ = leader.change_membership(brickyard_consensus::ConfChange::AddLearner(2));
        }
        if turn == 10 {
            let _ = leader.propose(vec![9; 5]);
        }
        leader.tick();
        other.tick();
        for (from, to) in [(1, 2), (2, 1)] {
            let (node, peer) = if from == 1 {
                (&mut leader, &mut other)
            } else {
                (&mut other, &mut leader)
            };
            while let Some(output) = node.poll() {
                match output {
                    ConsensusOutput::Persist(Persist { number, .. }) => node.on_persisted(number),
                    ConsensusOutput::Send {
                        to: sent_to,
                        message,
                    } if sent_to == to => {
                        let mut one = (message.len() as u16 + 1).to_le_bytes().to_vec();
                        one.push(from as u8);
                        one.extend_from_slice(&message);
                        if said.len() < 12 {
                            said.push([&[from as u8 & 1][..], &one].concat());
                            all.extend_from_slice(&one);
                        }
                        drop(peer.step(from, &message));
                    }
                    _ => {}
                }
            }
        }
    }
    said.push(all);
    said
}
