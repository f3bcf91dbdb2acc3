use super::*;
use brickyard_routing::NodeId;
use brickyard_types::BrickId;

const TABLE: TableId = TableId(1);
const ANYBODY: u64 = 99;

fn member(node: u32, brick: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(brick),
    }
}

fn at(millis: u64) -> Instant {
    Instant(millis * 1_000_000)
}

fn holders() -> Holders {
    Holders::new(member(0, 0))
}

/// Which bricks are sent recalls of the key `k`, and whether they are to answer.
fn recalls(holders: &mut Holders) -> Vec<(Member, bool)> {
    let recall = |it: Outgoing| match it.notice {
        Notice::Recall { is_awaited, .. } => (it.to, is_awaited),
        notice => panic!("{notice:?}"),
    };
    holders.take_outgoing().into_iter().map(recall).collect()
}

#[test]
fn a_write_waits_until_all_other_bricks_have_told_their_clients() {
    let mut holders = holders();
    let (own, one, two) = (member(0, 0), member(0, 1), member(1, 0));
    for holder in [own, one, two, one] {
        holders.note_read(TABLE, b"k", holder, 10);
    }
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    assert_eq!(
        recalls(&mut holders),
        [(own, true), (one, true), (two, true)]
    );
    assert!(!holders.on_recalled(own, TABLE, b"k".to_vec()));
    assert!(!holders.on_recalled(one, TABLE, b"k".to_vec()));
    assert!(
        !holders.recall(TABLE, b"k", ANYBODY, at(1)),
        "one has not answered"
    );
    assert!(holders.on_recalled(two, TABLE, b"k".to_vec()));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(2)));
    assert_eq!(recalls(&mut holders), []);
    holders.note_written(TABLE, b"k");
    assert!(holders.is_empty());
}

/// What leaves for other nodes does so before what clients are told in the same turn.
#[test]
fn own_clients_are_waited_for_as_others_are() {
    let mut holders = holders();
    let own = member(0, 0);
    holders.note_read(TABLE, b"k", own, 10);
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    assert_eq!(recalls(&mut holders), [(own, true)]);
    assert!(holders.on_recalled(own, TABLE, b"k".to_vec()));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(0)));
    holders.note_written(TABLE, b"k");
    assert!(holders.is_empty());
}

#[test]
fn who_reads_while_a_write_waits_keeps_nothing() {
    let mut holders = holders();
    let (one, two) = (member(0, 1), member(0, 2));
    holders.note_read(TABLE, b"k", one, 10);
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    holders.take_outgoing();
    holders.note_read(TABLE, b"k", two, 10);
    assert_eq!(recalls(&mut holders), [(two, false)]);
    assert!(holders.on_recalled(one, TABLE, b"k".to_vec()));
    holders.note_read(TABLE, b"k", two, 10);
    assert_eq!(recalls(&mut holders), [(two, false)], "the write comes yet");
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(1)));
}

#[test]
fn a_brick_that_does_not_answer_is_waited_for_no_longer_and_owes_nothing_once_it_does() {
    let mut holders = holders();
    let gone = member(1, 0);
    holders.note_read(TABLE, b"k", gone, 10);
    holders.note_read(TABLE, b"other", gone, 10);
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    holders.take_outgoing();
    assert!(!holders.on_tick(at(499), |_| true));
    assert!(holders.on_tick(at(500), |_| true));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(500)));
    assert!(
        holders.recall(TABLE, b"other", ANYBODY, at(500)),
        "nothing is known of it"
    );
    assert_eq!(holders.take_outgoing(), [forget_all(gone)]);
    holders.on_tick(at(1_499), |_| true);
    assert_eq!(holders.take_outgoing(), []);
    holders.on_tick(at(1_500), |_| true);
    assert_eq!(holders.take_outgoing().len(), 1, "it has not answered yet");
    holders.on_recalled_all(gone);
    holders.on_tick(at(2_500), |_| true);
    assert_eq!(holders.take_outgoing(), []);
    assert!(!holders.is_unsettled() && holders.is_empty());
}

fn forget_all(to: Member) -> Outgoing {
    let notice = Notice::RecallAll;
    Outgoing { to, notice }
}

/// What was on a stream that broke is lost, with recalls and their answers.
#[test]
fn a_write_waits_for_a_brick_to_which_the_stream_broke_until_it_has_forgotten_everything() {
    let mut holders = holders();
    let (broken, well) = (member(1, 0), member(2, 0));
    for key in [b"asked", b"later"] {
        holders.note_read(TABLE, key, broken, 10);
    }
    holders.note_read(TABLE, b"other", well, 10);
    assert!(!holders.recall(TABLE, b"asked", ANYBODY, at(0)));
    holders.take_outgoing();
    holders.on_broken(broken, at(1));
    assert_eq!(holders.take_outgoing(), [forget_all(broken)]);
    assert!(!holders.recall(TABLE, b"asked", ANYBODY, at(2)));
    assert!(!holders.recall(TABLE, b"later", ANYBODY, at(2)));
    assert!(holders.recall(TABLE, b"nobody's", ANYBODY, at(2)));
    assert_eq!(holders.take_outgoing(), [], "it hears nothing before that");
    holders.note_read(TABLE, b"new", broken, 10);
    assert_eq!(recalls(&mut holders), [(broken, false)], "it keeps nothing");
    assert!(holders.on_recalled_all(broken));
    assert_eq!(recalls(&mut holders), [(broken, true)], "it is asked again");
    assert!(!holders.recall(TABLE, b"asked", ANYBODY, at(3)));
    assert!(holders.recall(TABLE, b"later", ANYBODY, at(3)));
    assert!(holders.on_recalled(broken, TABLE, b"asked".to_vec()));
    assert!(holders.recall(TABLE, b"asked", ANYBODY, at(4)));
    assert!(!holders.recall(TABLE, b"other", ANYBODY, at(4)));
}

#[test]
fn a_brick_to_which_the_stream_stays_broken_is_waited_for_no_longer_than_one_that_is_silent() {
    let mut holders = holders();
    let gone = member(1, 0);
    holders.listen(gone, 1, Some(vec![Vec::new()]));
    holders.take_outgoing();
    holders.on_broken(gone, at(0));
    holders.on_broken(gone, at(300));
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(499)));
    assert!(!holders.on_tick(at(499), |_| true));
    assert!(holders.on_tick(at(500), |_| true));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(500)));
    holders.on_broken(gone, at(600));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(600)), "it was lost");
    let told = holders.take_outgoing();
    assert_eq!(told, [gone; 3].map(forget_all), "after each break");
}

/// It left the cluster while its stream was broken: nobody is owed anything then, and writes go on all the same.
#[test]
fn a_brick_that_is_removed_while_its_stream_is_broken_is_waited_for_no_longer() {
    let mut holders = holders();
    let gone = member(1, 0);
    holders.note_read(TABLE, b"k", gone, 10);
    holders.on_broken(gone, at(0));
    assert!(!holders.on_tick(at(100), |_| false));
    assert!(holders.is_unsettled() && !holders.recall(TABLE, b"k", ANYBODY, at(100)));
    assert!(holders.on_tick(at(500), |_| false));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(500)));
    assert!(!holders.is_unsettled());
}

/// The process may have been halted between two turns.
#[test]
fn own_clients_are_waited_for_however_late_their_turn_is() {
    let mut holders = holders();
    let own = member(0, 0);
    holders.note_read(TABLE, b"k", own, 10);
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    assert!(!holders.on_tick(at(5_000), |_| true));
    assert!(holders.on_recalled(own, TABLE, b"k".to_vec()));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(5_000)));
}

/// What this brick's clients are told of another map leaves behind what others are sent in the same turn.
#[test]
fn a_new_primary_waits_for_its_own_clients_as_for_others() {
    let mut holders = holders();
    let own = member(0, 0);
    holders.listen(own, 1, Some(Vec::new()));
    holders.note_led(1, at(0));
    assert_eq!(holders.take_outgoing(), [forget_all(own)]);
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    assert!(holders.on_recalled_all(own));
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(0)));
}

#[test]
fn a_key_that_nobody_writes_after_all_can_be_kept_again() {
    let mut holders = holders();
    let one = member(0, 1);
    holders.note_read(TABLE, b"k", one, 10);
    holders.recall(TABLE, b"k", ANYBODY, at(0));
    holders.on_recalled(one, TABLE, b"k".to_vec());
    holders.take_outgoing();
    holders.on_tick(at(600), |_| true);
    holders.note_read(TABLE, b"k", one, 10);
    assert_eq!(holders.take_outgoing(), []);
}

#[test]
fn who_listens_to_a_prefix_is_recalled_whatever_was_read() {
    let mut holders = holders();
    let one = member(0, 1);
    holders.listen(one, 3, Some(vec![b"user:".to_vec()]));
    let confirmed = Outgoing {
        to: one,
        notice: Notice::Listening { round: 3 },
    };
    assert_eq!(holders.take_outgoing(), [confirmed]);
    assert!(holders.recall(TABLE, b"order:1", ANYBODY, at(0)));
    assert!(!holders.recall(TABLE, b"user:1", ANYBODY, at(0)));
    assert_eq!(recalls(&mut holders), [(one, true)]);
    holders.note_gone(TABLE, b"user:2");
    assert_eq!(recalls(&mut holders), [(one, false)]);
    holders.listen(one, 4, None);
    holders.take_outgoing();
    assert!(holders.recall(TABLE, b"user:3", ANYBODY, at(0)));
}

#[test]
fn keys_are_bounded_and_who_held_one_that_goes_is_told() {
    let mut holders = holders();
    let one = member(0, 1);
    for key in [b"a", b"b", b"c"] {
        holders.note_read(TABLE, key, one, 2);
    }
    assert_eq!(recalls(&mut holders), [(one, false)]);
    assert!(
        !holders.recall(TABLE, b"c", ANYBODY, at(0)),
        "it is among those that stay"
    );
}

#[test]
fn a_table_that_is_cleared_is_told_to_all_that_hold_anything_of_it() {
    let mut holders = holders();
    let (one, two) = (member(0, 1), member(0, 2));
    holders.note_read(TABLE, b"k", one, 10);
    holders.note_read(TableId(2), b"k", two, 10);
    holders.note_cleared(TABLE);
    assert_eq!(holders.take_outgoing(), [forget_all(one)]);
    assert!(!holders.recall(TableId(2), b"k", ANYBODY, at(0)));
}

#[test]
fn a_new_primary_writes_nothing_before_copies_are_forgotten_of_which_it_knows_nothing() {
    let mut holders = holders();
    let (one, gone) = (member(0, 1), member(1, 0));
    holders.note_led(1, at(0));
    assert!(
        holders.recall(TABLE, b"k", ANYBODY, at(0)),
        "nobody keeps anything"
    );
    holders.listen(one, 1, Some(Vec::new()));
    holders.listen(gone, 1, Some(Vec::new()));
    holders.take_outgoing();
    holders.note_led(1, at(0));
    assert!(
        holders.recall(TABLE, b"k", ANYBODY, at(0)),
        "it leads what it led"
    );
    holders.note_led(2, at(0));
    let told: Vec<Member> = holders
        .take_outgoing()
        .into_iter()
        .map(|it| it.to)
        .collect();
    assert_eq!(told, [one, gone]);
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    assert!(!holders.on_recalled_all(one));
    assert!(!holders.recall(TABLE, b"k", ANYBODY, at(0)));
    assert!(
        holders.on_tick(at(500), |_| true),
        "who is gone is not waited for"
    );
    assert!(holders.recall(TABLE, b"k", ANYBODY, at(500)));
}
