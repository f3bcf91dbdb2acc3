use super::*;
use crate::fixture::{
    Bench, converse, converse_but, is_snapshot, pair, recovered, trio, with_voters,
};

#[test]
fn first_node_begins_with_a_snapshot_and_no_vote() {
    let RecoveredState {
        hard_state,
        snapshot,
        entries,
    } = Consensus::bootstrap(7, vec![9]);
    assert_eq!(
        (hard_state.term, hard_state.vote, hard_state.commit),
        (1, 0, 1)
    );
    let Some(Snapshot {
        index,
        term,
        voters,
        ..
    }) = snapshot
    else {
        panic!("no snapshot");
    };
    assert_eq!((index, term, voters, entries), (1, 1, vec![7], vec![]));
}

#[test]
fn only_voter_leads_at_once() {
    let mut bench = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    assert!(bench.consensus.is_leader());
    assert!(!bench.consensus.is_settled());
    let outputs = bench.drain();
    let ConsensusOutput::Restore(snapshot) = &outputs[0] else {
        panic!("{outputs:?}");
    };
    assert_eq!((snapshot.index, &snapshot.data), (1, &vec![9]));
    assert!(bench.consensus.is_settled());
    bench.consensus.propose(vec![1, 2]).unwrap();
    let outputs = bench.drain();
    let apply = ConsensusOutput::Apply {
        index: 3,
        term: 2,
        data: vec![1, 2],
    };
    assert!(outputs.contains(&apply), "{outputs:?}");
    assert_eq!(bench.consensus.applied(), 3);
    bench.consensus.confirm_quorum(77);
    assert_eq!(bench.drain(), [ConsensusOutput::QuorumConfirmed(77)]);
}

#[test]
fn leader_says_nothing_in_a_term_that_is_not_stored() {
    let mut bench = Bench::new(1, recovered(&[ConfChange::AddLearner(2)]));
    bench.stores = false;
    assert!(bench.consensus.is_leader());
    bench.consensus.propose(vec![1]).unwrap();
    let outputs = bench.drain();
    let leads = ConsensusOutput::Leadership {
        leader: Some(1),
        term: 2,
    };
    assert_eq!(Bench::sent(&outputs), []);
    assert!(!outputs.contains(&leads), "{outputs:?}");
    let stored = Bench::stored(&outputs);
    assert_eq!(stored[0].hard_state.unwrap().term, 2);
    bench.consensus.on_persisted(stored[0].number);
    let outputs = bench.drain();
    assert_ne!(Bench::sent(&outputs), []);
    assert!(outputs.contains(&leads), "{outputs:?}");
}

#[test]
fn only_voter_leads_at_once_also_behind_changes_of_membership() {
    let bench = Bench::new(1, recovered(&[ConfChange::AddLearner(2)]));
    assert!(bench.consensus.is_leader());
    let bench = Bench::new(
        1,
        recovered(&[ConfChange::AddLearner(2), ConfChange::Promote(2)]),
    );
    assert!(!bench.consensus.is_leader());
    assert_eq!(bench.consensus.voters(), [1, 2]);
}

#[test]
fn promises_leave_after_they_are_stored() {
    let (mut one, mut two) = pair();
    two.stores = false;
    one.consensus.propose(vec![5]).unwrap();
    for (_, message) in Bench::sent(&one.drain()) {
        two.consensus.step(1, &message).unwrap();
    }
    let outputs = two.drain();
    assert_eq!(Bench::sent(&outputs), []);
    let stored = Bench::stored(&outputs);
    assert!(stored[0].must_sync);
    assert_eq!(stored[0].entries[0].data, [5]);
    two.consensus.on_persisted(stored[0].number);
    assert_eq!(Bench::sent(&two.drain()).len(), 1);
}

#[test]
fn leader_commits_with_the_others_while_its_own_disk_is_busy() {
    let mut one = Bench::new(1, with_voters(&[1, 2, 3]));
    let mut two = Bench::new(2, with_voters(&[1, 2, 3]));
    let mut three = Bench::new(3, with_voters(&[1, 2, 3]));
    one.consensus.campaign();
    converse(&mut [&mut one, &mut two, &mut three]);
    one.stores = false;
    one.consensus.propose(vec![5]).unwrap();
    converse(&mut [&mut one, &mut two, &mut three]);
    let applies = |bench: &Bench| {
        let mut outputs = bench.outputs.iter();
        outputs.any(|output| matches!(output, ConsensusOutput::Apply { index: 3, .. }))
    };
    assert!(applies(&two) && applies(&three));
    // Here it is applied only when it is stored here.
    assert!(!applies(&one));
    let number = Bench::stored(&one.outputs).last().unwrap().number;
    one.consensus.on_persisted(number);
    one.drain();
    assert!(applies(&one));
}

#[test]
fn nobody_stands_with_a_disk_that_owes_something() {
    let (mut one, mut two) = pair();
    two.stores = false;
    one.consensus.propose(vec![5]).unwrap();
    for (_, message) in Bench::sent(&one.drain()) {
        two.consensus.step(1, &message).unwrap();
    }
    one.consensus.transfer_leader(2).unwrap();
    for _ in 0..100 {
        two.consensus.tick();
        two.drain();
    }
    assert_eq!(two.consensus.leader(), Some(1));
    two.consensus.campaign();
    assert_eq!(two.consensus.leader(), Some(1));
    two.consensus
        .on_persisted(Bench::stored(&two.outputs).last().unwrap().number);
    two.drain();
    // It was slow, so the others might stand first.
    for _ in 0..=2 * ConsensusConfig::new(2, 1).election_ticks {
        two.consensus.tick();
    }
    assert_eq!(two.consensus.leader(), None);
}

#[test]
fn the_lead_can_be_handed_over() {
    let (mut one, mut two) = pair();
    one.consensus.transfer_leader(2).unwrap();
    assert_eq!(one.consensus.propose(vec![1]), Err(Refused::Transferring));
    converse(&mut [&mut one, &mut two]);
    assert!(two.consensus.is_settled());
    let leader = Some(2);
    let refused = Err(Refused::NotLeader { leader });
    assert_eq!(one.consensus.propose(vec![1]), refused);
    assert_eq!(one.consensus.leader_contacts(), 2, "its entry, its commit");
}

#[test]
fn a_busy_disk_is_not_handed_the_lead() {
    let (mut one, mut two) = pair();
    one.consensus.propose(vec![5]).unwrap();
    converse(&mut [&mut one, &mut two]);
    two.stores = false;
    // The news that it is committed is on its way to the disk.
    one.consensus.propose(vec![6]).unwrap();
    converse(&mut [&mut one, &mut two]);
    let number = Bench::stored(&two.outputs).last().unwrap().number;
    two.consensus.on_persisted(number);
    converse(&mut [&mut one, &mut two]);
    one.consensus.transfer_leader(2).unwrap();
    let (_, timeout_now) = Bench::sent(&one.drain()).remove(0);
    let refused = two.consensus.step(1, &timeout_now);
    assert_eq!(refused, Err(Rejected::Busy));
    let number = Bench::stored(&two.outputs).last().unwrap().number;
    two.consensus.on_persisted(number);
    two.drain();
    assert_eq!(two.consensus.step(1, &timeout_now), Ok(()));
    assert_eq!(two.consensus.leader(), None);
}

#[test]
fn a_leader_that_hears_nobody_loses_its_rounds() {
    let (mut one, _) = pair();
    one.consensus.confirm_quorum(1);
    one.consensus.confirm_quorum(2);
    for _ in 0..40 {
        one.consensus.tick();
    }
    let outputs = one.drain();
    assert!(!one.consensus.is_leader());
    assert!(outputs.contains(&ConsensusOutput::QuorumLost(1)));
    assert!(outputs.contains(&ConsensusOutput::QuorumLost(2)));
    one.consensus.confirm_quorum(3);
    assert_eq!(one.drain(), [ConsensusOutput::QuorumLost(3)]);
}

#[test]
fn impossible_changes_are_refused() {
    let (mut one, mut two) = pair();
    let mut refused = |change| one.consensus.change_membership(change).unwrap_err();
    assert_eq!(refused(ConfChange::AddLearner(2)), Refused::IsSo);
    assert_eq!(refused(ConfChange::Promote(2)), Refused::IsSo);
    assert_eq!(refused(ConfChange::Promote(3)), Refused::NotMember);
    assert_eq!(refused(ConfChange::Remove(3)), Refused::NotMember);
    assert_eq!(refused(ConfChange::Remove(1)), Refused::IsLeader);
    assert_eq!(refused(ConfChange::Demote(1)), Refused::IsLeader);
    let change = ConfChange::Remove(2);
    let leader = Some(1);
    assert_eq!(
        two.consensus.change_membership(change),
        Err(Refused::NotLeader { leader })
    );
    one.consensus
        .change_membership(ConfChange::AddLearner(3))
        .unwrap();
    assert_eq!(
        one.consensus.change_membership(change),
        Err(Refused::Pending)
    );
    converse(&mut [&mut one, &mut two]);
    assert_eq!(one.consensus.learners(), [3]);
    let behind = one.consensus.change_membership(ConfChange::Promote(3));
    assert_eq!(behind, Ok(()), "it may lack a hundred entries");
    converse(&mut [&mut one, &mut two]);
    let alone = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    let mut alone = alone;
    alone.drain();
    let refused = alone.consensus.change_membership(ConfChange::Remove(1));
    assert_eq!(refused, Err(Refused::LastVoter));
}

#[test]
fn a_learner_far_behind_is_not_promoted() {
    let mut config = ConsensusConfig::new(1, 1);
    config.promote_behind_max = 1;
    let mut bench = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    bench.consensus.config = config;
    bench.drain();
    let add = ConfChange::AddLearner(2);
    bench.consensus.change_membership(add).unwrap();
    bench.drain();
    let refused = bench.consensus.change_membership(ConfChange::Promote(2));
    let (matched, commit) = (0, 3);
    assert_eq!(refused, Err(Refused::Behind { matched, commit }));
}

#[test]
fn a_snapshot_is_of_what_was_applied() {
    let mut bench = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    let refused = bench.consensus.compact(1, vec![]);
    assert_eq!(refused, Err(Refused::NotApplied { applied: 0 }));
    bench.drain();
    bench
        .consensus
        .change_membership(ConfChange::AddLearner(2))
        .unwrap();
    for data in 0..4 {
        bench.consensus.propose(vec![data]).unwrap();
    }
    bench.drain();
    bench.stores = false;
    bench.consensus.compact(5, vec![8]).unwrap();
    let stored = Bench::stored(&bench.drain());
    let snapshot = stored[0].snapshot.clone().unwrap();
    assert_eq!((snapshot.index, snapshot.term), (5, 2));
    assert_eq!(snapshot.learners, [2]);
    let kept: Vec<u64> = stored[0].entries.iter().map(|entry| entry.index).collect();
    assert_eq!(kept, [6, 7]);
    let hard_state = stored[0].hard_state.unwrap();
    assert_eq!((hard_state.term, hard_state.commit), (2, 7));
    // An older one changes nothing, nor does the same once more.
    for index in [4, 5] {
        bench.consensus.compact(index, vec![7]).unwrap();
        assert_eq!(bench.drain(), []);
    }
}

#[test]
fn messages_of_the_wrong_people_are_refused() {
    let (mut one, mut two) = pair();
    one.consensus.propose(vec![5]).unwrap();
    let (_, message) = Bench::sent(&one.drain()).remove(0);
    let refused = |bench: &mut Bench, from| bench.consensus.step(from, &message).unwrap_err();
    let (named, from) = (1, 3);
    assert_eq!(refused(&mut two, 3), Rejected::Sender { named, from });
    let named = 1;
    let from = 1;
    assert_eq!(refused(&mut one, 1), Rejected::Sender { named, from });
    let mut three = Bench::new(3, RecoveredState::default());
    assert_eq!(refused(&mut three, 1), Rejected::Receiver { to: 2 });
    // An answer of somebody who is no member.
    two.consensus.step(1, &message).unwrap();
    let (_, answer) = Bench::sent(&two.drain()).remove(0);
    let mut alone = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    let refused = alone.consensus.step(2, &answer);
    assert_eq!(refused, Err(Rejected::NotMember { from: 2 }));
    // It says that it stored what the leader never had.
    let mut boast = answer;
    boast[36] += 1;
    let refused = one.consensus.step(2, &boast);
    let malformed = Rejected::Malformed("it has more than the leader");
    assert_eq!(refused, Err(malformed));
    // Whoever does not lead does not know how much there is: what comes for an earlier lead is dropped.
    for _ in 0..40 {
        one.consensus.tick();
    }
    assert!(!one.consensus.is_leader());
    assert_eq!(one.consensus.step(2, &boast), Ok(()));
}

#[test]
fn a_node_whose_disk_forgot_is_told_so() {
    let (mut one, mut two) = pair();
    one.consensus.propose(vec![5]).unwrap();
    converse(&mut [&mut one, &mut two]);
    // Its log is as it was before it answered.
    let mut two = Bench::new(2, with_voters(&[1, 2]));
    two.drain();
    one.until_heartbeat();
    let (_, heartbeat) = Bench::sent(&one.drain()).remove(0);
    let refused = two.consensus.step(1, &heartbeat);
    let (expected, last) = (3, 1);
    assert_eq!(refused, Err(Rejected::LogLost { expected, last }));
    assert!(refused.unwrap_err().to_string().contains("join anew"));
}

#[test]
fn memory_with_holes_is_refused() {
    let sound = recovered(&[ConfChange::AddLearner(2), ConfChange::Promote(2)]);
    let refused = |spoil: &dyn Fn(&mut RecoveredState)| {
        let mut recovered = sound.clone();
        spoil(&mut recovered);
        Consensus::new(ConsensusConfig::new(1, 1), recovered).unwrap_err()
    };
    let gap = refused(&|it| drop(it.entries.remove(0)));
    let (expected, found) = (2, 3);
    assert_eq!(gap, RecoverError::Gap { expected, found });
    let commit = refused(&|it| it.hard_state.commit = 4);
    let between = (1, 3);
    assert_eq!(commit, RecoverError::Commit { commit: 4, between });
    let commit = refused(&|it| it.hard_state.commit = 0);
    assert_eq!(commit, RecoverError::Commit { commit: 0, between });
    let term = refused(&|it| it.entries[1].term = 2);
    assert_eq!(term, RecoverError::Term { index: 3, term: 2 });
    let voters = refused(&|it| it.snapshot.as_mut().unwrap().voters.clear());
    assert_eq!(voters, RecoverError::Snapshot);
    let change = refused(&|it| it.entries[0].data.clear());
    assert_eq!(change, RecoverError::Membership { index: 2 });
    let config = Consensus::new(ConsensusConfig::new(0, 1), sound.clone());
    assert!(matches!(config, Err(RecoverError::Config(_))));
}

#[test]
fn closed_connections_of_the_leader_shorten_the_way_to_the_next() {
    let [_, mut two, mut three] = trio();
    two.consensus.suspect(1);
    three.consensus.suspect(1);
    let base = ConsensusConfig::new(1, 1).election_ticks;
    let elected = (1..=base).find(|_| {
        two.consensus.tick();
        three.consensus.tick();
        converse(&mut [&mut two, &mut three]);
        two.consensus.is_leader() || three.consensus.is_leader()
    });
    assert!(elected.is_some(), "nobody leads within {base} ticks");
}

#[test]
fn suspicion_of_one_node_deposes_nobody() {
    let [mut one, mut two, mut three] = trio();
    let term = one.consensus.term();
    // The second has lost the leader, the third goes on hearing it.
    for _ in 0..50 {
        two.consensus.suspect(1);
        for bench in [&mut one, &mut two, &mut three] {
            bench.consensus.tick();
        }
        converse(&mut [&mut two, &mut three]);
        converse(&mut [&mut one, &mut three]);
    }
    assert!(one.consensus.is_leader());
    assert_eq!(three.consensus.leader(), Some(1));
    assert_eq!(one.consensus.term(), term);
    // Nor does one of somebody who does not lead: who suspects it goes on waiting for the leader.
    let [_, mut two, _] = trio();
    two.consensus.suspect(3);
    for _ in 1..ConsensusConfig::new(2, 1).election_ticks {
        two.consensus.tick();
        assert_eq!(two.consensus.leader(), Some(1));
    }
}

/// From a seed: SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

/// What three nodes put out while they elect, propose, compact and change who takes part, and some messages are lost or
/// have a bit turned over.
fn spoilt(seed: u64) -> Vec<ConsensusOutput> {
    let mut state = seed;
    let mut all = trio();
    for step in 0..120 {
        let mut packets = Vec::new();
        for bench in &mut all {
            bench.consensus.tick();
            let drawn = random(&mut state);
            if bench.consensus.is_leader() && drawn.is_multiple_of(3) {
                let _ = bench.consensus.propose(vec![7; 1 + step % 90]);
                bench.consensus.confirm_quorum(step as u64);
            }
            if drawn.is_multiple_of(40) {
                bench.consensus.campaign();
            }
            let from = bench.consensus.config.id;
            let sent = Bench::sent(&bench.drain());
            packets.extend(sent.into_iter().map(|(to, message)| (to, from, message)));
        }
        for (to, from, mut message) in packets {
            let drawn = random(&mut state) as usize;
            if drawn.is_multiple_of(8) {
                let bit = (drawn >> 8) % (message.len() * 8);
                message[bit / 8] ^= 1 << (bit % 8);
            }
            if drawn % 8 != 1
                && let Some(bench) = all.iter_mut().find(|it| it.consensus.config.id == to)
            {
                let _ = bench.consensus.step(from, &message);
            }
        }
    }
    all.into_iter().flat_map(|it| it.outputs).collect()
}

#[test]
fn spoilt_messages_make_no_node_panic_and_a_seed_is_a_run() {
    for seed in 0..200 {
        assert_eq!(spoilt(seed), spoilt(seed), "seed {seed}");
    }
}

#[test]
fn learner_that_is_to_learn_and_proposals_of_the_longest_kind() {
    let (mut one, mut two) = pair();
    let mut longest = vec![7; ENTRY_BYTES_MAX];
    assert_eq!(one.consensus.propose(longest.clone()), Ok(()));
    longest.push(7);
    assert_eq!(one.consensus.propose(longest), Err(Refused::TooLarge));
    converse(&mut [&mut one, &mut two]);
    let refused = two.consensus.transfer_leader(1);
    assert_eq!(refused, Err(Refused::NotLeader { leader: Some(1) }));
    one.consensus
        .change_membership(ConfChange::AddLearner(3))
        .unwrap();
    converse(&mut [&mut one, &mut two]);
    let demoted = one.consensus.change_membership(ConfChange::Demote(3));
    assert_eq!(demoted, Err(Refused::IsSo));
}

/// A node that is new gets a snapshot, and it again as long as nothing is heard of it.
#[test]
fn snapshot_is_asked_for_once_and_sent_again_when_it_is_lost() {
    let (mut one, mut two) = pair();
    one.consensus.config.entries_kept = 0;
    for data in 0..9 {
        one.consensus.propose(vec![data]).unwrap();
    }
    converse(&mut [&mut one, &mut two]);
    let applied = one.consensus.applied();
    one.consensus.compact(applied, vec![5]).unwrap();
    converse(&mut [&mut one, &mut two]);
    one.consensus
        .change_membership(ConfChange::AddLearner(3))
        .unwrap();
    converse(&mut [&mut one, &mut two]);
    let wanted = |bench: &Bench| {
        let wanted = bench.outputs.iter();
        wanted
            .filter(|it| **it == ConsensusOutput::SnapshotWanted)
            .count()
    };
    let sent = |bench: &Bench| {
        let sent = Bench::sent(&bench.outputs);
        sent.iter().filter(|it| is_snapshot(&it.1)).count()
    };
    let three = Bench::new(3, RecoveredState::default());
    let mut benches = [one, two, three];
    let never: fn(&[u8]) -> bool = |_| false;
    let tick = |benches: &mut [Bench; 3], ticks, is_lost: fn(&[u8]) -> bool| {
        let [one, two, three] = benches;
        for _ in 0..ticks {
            one.consensus.tick();
            converse_but(&mut [one, two, three], is_lost);
        }
        (wanted(one), sent(one), three.consensus.learners().len())
    };
    // The snapshot that is there does not name it.
    assert_eq!(
        tick(&mut benches, 3, is_snapshot),
        (1, 0, 0),
        "it is asked for once"
    );
    let applied = benches[0].consensus.applied();
    benches[0].consensus.compact(applied, vec![6]).unwrap();
    assert_eq!(
        tick(&mut benches, 190, is_snapshot),
        (1, 1, 0),
        "its answer is waited for"
    );
    assert_eq!(
        tick(&mut benches, 20, is_snapshot),
        (1, 2, 0),
        "and not for ever"
    );
    // Whoever sends it says that it could not.
    benches[0].consensus.report_snapshot(3, false);
    assert_eq!(
        tick(&mut benches, 4, is_snapshot),
        (1, 3, 0),
        "at once then"
    );
    assert_eq!(
        tick(&mut benches, 190, is_snapshot),
        (1, 3, 0),
        "this one's answer is waited for as long"
    );
    assert_eq!(tick(&mut benches, 220, never), (1, 4, 1));
    let [one, _, three] = &benches;
    let restored = three.outputs.iter();
    let restored = restored.filter(|it| matches!(it, ConsensusOutput::Restore(_)));
    assert_eq!(restored.count(), 1);
    assert_eq!(three.consensus.applied(), one.consensus.applied());
}
