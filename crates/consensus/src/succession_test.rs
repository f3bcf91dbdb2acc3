use crate::fixture::{Bench, converse, converse_but, pair, trio};
use crate::{Consensus, ConsensusConfig, ConsensusOutput, wire};
use raft::eraftpb::MessageType;

/// Longer than any election.
const LONG: u32 = 60;

fn leads(benches: &[Bench]) -> Vec<u64> {
    let leading = benches.iter().filter(|it| it.consensus.is_leader());
    leading.map(|it| it.consensus.config.id).collect()
}

/// A tick of all of them, and what comes of it but for the messages that are lost.
fn tick_but(benches: &mut [Bench; 3], is_lost: impl Fn(&[u8]) -> bool) {
    for bench in benches.iter_mut() {
        bench.consensus.tick();
    }
    let [one, two, three] = benches;
    converse_but(&mut [one, two, three], is_lost);
}

fn tick(benches: &mut [Bench; 3]) {
    tick_but(benches, |_| false);
}

/// Three voters; the first leads, its disk stores nothing, and the others have stored an entry that it has not.
fn held_up() -> [Bench; 3] {
    let mut all = trio();
    all[0].stores = false;
    all[0].consensus.propose(vec![5]).unwrap();
    let [one, two, three] = &mut all;
    converse(&mut [one, two, three]);
    all
}

fn hand_overs(bench: &Bench) -> usize {
    let outputs = bench.outputs.iter();
    let which = |it: &&ConsensusOutput| matches!(it, ConsensusOutput::HandOver { .. });
    outputs.filter(which).count()
}

fn is_kind(message: &[u8], kind: MessageType) -> bool {
    wire::decode(message).unwrap().get_msg_type() == kind
}

#[test]
fn a_leader_whose_disk_stalls_gives_the_lead_to_one_whose_disk_does_not() {
    let mut all = held_up();
    let patience = ConsensusConfig::new(1, 1).disk_ticks;
    for _ in 1..patience {
        tick(&mut all);
        assert_eq!(leads(&all), [1], "it is not sure yet");
    }
    tick(&mut all);
    let [leader] = leads(&all)[..] else {
        panic!("{:?} lead", leads(&all));
    };
    assert_ne!(leader, 1);
    let at = (leader - 1) as usize;
    assert!(all[at].consensus.is_settled());
    all[at].consensus.propose(vec![6]).unwrap();
    let before = all[at].consensus.applied();
    tick(&mut all);
    assert_eq!(all[at].consensus.applied(), before + 1);
    // The disk works again: it is one of them again, and its log is theirs.
    let number = Bench::stored(&all[0].outputs).last().unwrap().number;
    all[0].consensus.on_persisted(number);
    all[0].stores = true;
    for _ in 0..LONG {
        tick(&mut all);
    }
    assert_eq!(leads(&all), [leader]);
    let applied = all[at].consensus.applied();
    assert!(all.iter().all(|it| it.consensus.applied() == applied));
}

#[test]
fn a_leader_whose_disk_is_full_gives_the_lead_up_at_once() {
    let mut all = held_up();
    all[0].consensus.on_disk_refused();
    let [one, two, three] = &mut all;
    converse(&mut [one, two, three]);
    assert_eq!(leads(&all).len(), 1);
    assert_ne!(leads(&all), [1]);
    // It need not be told again while it hears of the other one.
    for _ in 0..LONG {
        all[0].consensus.on_disk_refused();
        tick(&mut all);
    }
    assert_eq!(hand_overs(&all[0]), 1);
}

#[test]
fn a_voter_that_is_busy_when_it_is_asked_first_is_asked_again() {
    let mut all = trio();
    all[0].stores = false;
    all[0].consensus.propose(vec![5]).unwrap();
    // The refusal is there before the others' answers: with the first of them they hear that it is committed, and store that.
    all[0].consensus.on_disk_refused();
    let [one, two, three] = &mut all;
    converse(&mut [one, two, three]);
    tick(&mut all);
    assert_eq!(leads(&all).len(), 1);
    assert_ne!(leads(&all), [1]);
}

#[test]
fn a_leader_that_nobody_relieves_falls_silent() {
    let mut all = held_up();
    let is_lost = |message: &[u8]| is_kind(message, MessageType::MsgTimeoutNow);
    for _ in 0..LONG {
        tick_but(&mut all, is_lost);
    }
    assert_eq!(leads(&all).len(), 1);
    assert_ne!(leads(&all), [1], "and does not stand");
}

#[test]
fn where_nobody_is_better_off_the_leader_tries_on() {
    let mut alone = Bench::new(1, Consensus::bootstrap(1, vec![9]));
    alone.drain();
    alone.stores = false;
    alone.consensus.propose(vec![5]).unwrap();
    alone.consensus.on_disk_refused();
    let (mut one, mut two) = pair();
    one.stores = false;
    one.consensus.propose(vec![5]).unwrap();
    // All disks are slow: that others have not stored it either.
    let mut all = trio();
    for bench in &mut all {
        bench.stores = false;
    }
    all[0].consensus.propose(vec![5]).unwrap();
    for _ in 0..LONG {
        alone.consensus.tick();
        alone.drain();
        one.consensus.tick();
        two.consensus.tick();
        converse(&mut [&mut one, &mut two]);
        // They say nothing either, so that the leader would hear no majority.
        all[0].consensus.tick();
        all[0].drain();
        let patience = ConsensusConfig::new(1, 1).disk_ticks;
        if all[0].consensus.own_disk.now() == u64::from(patience) + 1 {
            assert_eq!(leads(&all), [1]);
        }
    }
    assert!(alone.consensus.is_leader() && one.consensus.is_leader());
    assert_eq!(hand_overs(&all[0]), 0);
}

#[test]
fn whoever_had_a_bad_disk_stands_after_the_others_and_if_they_do_not_all_the_same() {
    let mut all = trio();
    // It was, and is not any more.
    all[1].consensus.on_disk_refused();
    all[1].consensus.own_disk.take(None, 1);
    let longest = ConsensusConfig::new(1, 1).election_ticks * 2;
    // Nobody hears the leader any more.
    for _ in 0..longest {
        all[1].consensus.tick();
        all[1].drain();
        assert_eq!(all[1].consensus.leader(), Some(1));
    }
    let [_, two, three] = &mut all;
    for _ in 0..longest {
        three.consensus.tick();
        three.drain();
    }
    for _ in 0..=longest {
        two.consensus.tick();
        converse(&mut [&mut *two, &mut *three]);
    }
    assert!(two.consensus.is_leader());
}

#[test]
fn a_leader_that_gave_the_lead_up_is_more_patient_when_it_has_it_again() {
    let mut all = held_up();
    let patience = ConsensusConfig::new(1, 1).disk_ticks;
    assert_eq!(all[0].consensus.disk_patience(), patience);
    for _ in 0..LONG {
        tick(&mut all);
    }
    let number = Bench::stored(&all[0].outputs).last().unwrap().number;
    all[0].consensus.on_persisted(number);
    all[0].stores = true;
    tick(&mut all);
    let at = (leads(&all)[0] - 1) as usize;
    all[at].consensus.transfer_leader(1).unwrap();
    tick(&mut all);
    assert_eq!(leads(&all), [1]);
    assert_eq!(all[0].consensus.disk_patience(), 2 * patience);
    for _ in 0..super::MEMORY_TICKS {
        tick(&mut all);
    }
    assert_eq!(all[0].consensus.disk_patience(), patience);
}
