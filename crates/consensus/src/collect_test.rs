use super::*;
use crate::Refused;
use crate::fixture::{Bench, converse, converse_but, pair, trio};
use raft::eraftpb::MessageType;

/// Entries for the state machine.
fn applied(outputs: &[ConsensusOutput]) -> Vec<(u64, Vec<u8>)> {
    let applied = outputs.iter().filter_map(|output| match output {
        ConsensusOutput::Apply { index, data, .. } => Some((*index, data.clone())),
        _ => None,
    });
    applied.collect()
}

fn count(outputs: &[ConsensusOutput], which: &ConsensusOutput) -> usize {
    outputs.iter().filter(|it| *it == which).count()
}

/// The messages of a kind.
fn of_kind(outputs: &[ConsensusOutput], kind: MessageType) -> usize {
    let sent = Bench::sent(outputs);
    let kinds = sent.iter().map(|it| wire::decode(&it.1).unwrap());
    kinds.filter(|it| it.get_msg_type() == kind).count()
}

#[test]
fn what_was_polled_is_applied_from_then_on() {
    let mut bench = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    let restored = bench.consensus.poll();
    assert!(matches!(restored, Some(ConsensusOutput::Restore(_))));
    assert_eq!(bench.consensus.applied(), 1, "with its members yet to come");
}

/// A leader's first entry in its term is the agreement's own.
#[test]
fn the_state_machine_gets_what_was_proposed_and_nothing_else() {
    let (mut one, mut two) = pair();
    one.consensus.propose(vec![5]).unwrap();
    one.consensus
        .change_membership(ConfChange::AddLearner(3))
        .unwrap();
    one.consensus.propose(vec![6]).unwrap();
    converse(&mut [&mut one, &mut two]);
    for bench in [&one, &two] {
        let proposed = [(3, vec![5]), (5, vec![6])];
        assert_eq!(applied(&bench.outputs), proposed);
        assert_eq!(bench.consensus.applied(), 5);
    }
}

#[test]
fn a_snapshot_is_wanted_with_the_entry_that_makes_the_log_long_and_once() {
    let mut bench = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    bench.drain();
    bench.consensus.config.snapshot_after_entries = 3;
    let wanted = ConsensusOutput::SnapshotWanted;
    bench.consensus.propose(vec![1]).unwrap();
    assert_eq!(count(&bench.drain(), &wanted), 0);
    bench.consensus.propose(vec![2]).unwrap();
    assert_eq!(count(&bench.drain(), &wanted), 1);
    for data in 0..5 {
        bench.consensus.propose(vec![data]).unwrap();
        bench.consensus.tick();
        assert_eq!(count(&bench.drain(), &wanted), 0, "it was asked for");
    }
    let at = bench.consensus.applied();
    bench.consensus.compact(at, vec![8]).unwrap();
    for data in 0..3 {
        bench.consensus.propose(vec![data]).unwrap();
    }
    assert_eq!(count(&bench.drain(), &wanted), 1, "it was given");
}

#[test]
fn a_promise_is_stored_when_it_changed() {
    let (mut one, mut two) = pair();
    one.consensus.propose(vec![5]).unwrap();
    let stored = Bench::stored(&one.drain());
    assert_eq!((stored.len(), stored[0].entries.len()), (1, 1));
    assert_eq!(stored[0].hard_state, None, "the same term, vote and commit");
    one.consensus.propose(vec![6]).unwrap();
    converse(&mut [&mut one, &mut two]);
    let stored = Bench::stored(&one.outputs);
    assert_eq!(stored.last().unwrap().hard_state.unwrap().commit, 4);
}

/// Whatever is said while something is on its way to the disk waits for it, and is said then.
#[test]
fn answers_that_promise_nothing_new_wait_for_the_disk_too() {
    let (mut one, mut two) = pair();
    two.stores = false;
    one.consensus.propose(vec![5]).unwrap();
    for (_, message) in Bench::sent(&one.drain()) {
        two.consensus.step(1, &message).unwrap();
    }
    let number = Bench::stored(&two.drain())[0].number;
    one.until_heartbeat();
    let sent = Bench::sent(&one.drain());
    assert_eq!(sent.len(), 1, "a heartbeat");
    two.consensus.step(1, &sent[0].1).unwrap();
    let outputs = two.drain();
    assert_eq!(
        (Bench::sent(&outputs), Bench::stored(&outputs)),
        (vec![], vec![])
    );
    two.consensus.on_persisted(number);
    let outputs = two.drain();
    for kind in [
        MessageType::MsgAppendResponse,
        MessageType::MsgHeartbeatResponse,
    ] {
        assert_eq!(of_kind(&outputs, kind), 1, "{kind:?}");
    }
}

/// Node 3 begins to remove node 1, and has told nobody but node 1 when that one is elected: with its own first entry node 1
/// commits its own removal. It says so whether its disk is busy or not.
#[test]
fn a_leader_that_finishes_its_own_removal_leads_no_more() {
    let [mut one, mut two, mut three] = trio();
    one.consensus.transfer_leader(3).unwrap();
    converse(&mut [&mut one, &mut two, &mut three]);
    let removal = ConfChange::Remove(1);
    three.consensus.change_membership(removal).unwrap();
    for (to, message) in Bench::sent(&three.drain()) {
        if to == 1 {
            one.consensus.step(3, &message).unwrap();
        }
    }
    one.drain();
    let is_ack = |message: &[u8]| {
        let message = wire::decode(message).unwrap();
        message.get_msg_type() == MessageType::MsgAppendResponse
    };
    for _ in 0..40 {
        if one.consensus.is_leader() {
            break;
        }
        one.consensus.tick();
        two.consensus.tick();
        converse_but(&mut [&mut one, &mut two], is_ack);
    }
    assert_eq!(
        one.consensus.voters(),
        [1, 2, 3],
        "node 2 has it, and is not heard"
    );
    one.stores = false;
    let (mut said, mut rounds) = (Vec::new(), 0);
    while one.consensus.is_leader() && rounds < 50 {
        rounds += 1;
        one.consensus.tick();
        let mut sent = Bench::sent(&said);
        sent.extend(Bench::sent(&one.drain()));
        for (_, message) in sent.iter().filter(|it| it.0 == 2) {
            two.consensus.step(1, message).unwrap();
        }
        said.clear();
        let answers = Bench::sent(&two.drain());
        for (_, message) in answers {
            // What comes after that is another input.
            if one.consensus.is_leader() {
                one.consensus.step(2, &message).unwrap();
                said.extend(one.drain());
            }
        }
    }
    assert_eq!(one.consensus.voters(), [2, 3]);
    let term = one.consensus.term();
    let gone = ConsensusOutput::Leadership { leader: None, term };
    assert_eq!(count(&said, &gone), 1, "{said:?}");
    assert_eq!(
        one.consensus.propose(vec![1]),
        Err(Refused::NotLeader { leader: None })
    );
}

/// Three voters, of which the third has missed all that the log has, and gets the leader's snapshot.
fn restored() -> [Bench; 3] {
    let [mut one, mut two, mut three] = trio();
    one.consensus.config.entries_kept = 0;
    for data in 0..9 {
        one.consensus.propose(vec![data]).unwrap();
    }
    converse(&mut [&mut one, &mut two]);
    let learner = ConfChange::AddLearner(7);
    one.consensus.change_membership(learner).unwrap();
    converse(&mut [&mut one, &mut two]);
    let at = one.consensus.applied();
    one.consensus.compact(at, vec![5]).unwrap();
    for _ in 0..4 {
        one.consensus.tick();
        converse(&mut [&mut one, &mut two, &mut three]);
    }
    assert_eq!(three.consensus.applied(), at);
    [one, two, three]
}

#[test]
fn whoever_was_restored_knows_the_members_of_its_own_snapshots() {
    let [mut one, mut two, mut three] = restored();
    one.consensus.propose(vec![1]).unwrap();
    converse(&mut [&mut one, &mut two, &mut three]);
    let at = three.consensus.applied();
    three.consensus.compact(at, vec![6]).unwrap();
    let stored = Bench::stored(&three.drain());
    let snapshot = stored[0].snapshot.clone().unwrap();
    assert_eq!(snapshot.index, at);
    assert_eq!(
        (snapshot.voters, snapshot.learners),
        (vec![1, 2, 3], vec![7])
    );
}

#[test]
fn whoever_was_restored_can_stand_at_once() {
    let [_, mut two, mut three] = restored();
    three.consensus.suspect(1);
    two.consensus.suspect(1);
    for _ in 0..20 {
        three.consensus.tick();
        two.consensus.tick();
        converse(&mut [&mut two, &mut three]);
    }
    assert!(two.consensus.is_leader() || three.consensus.is_leader());
    let [_, _, mut three] = restored();
    three.consensus.campaign();
    assert_ne!(Bench::sent(&three.drain()), []);
}
