use super::*;

#[test]
fn turns_are_voted_for_up_to_what_the_log_has() {
    let mut receiver = Receiver::default();
    for (sequence, mark) in [(1, 0), (2, 5), (4, 5), (7, 6)] {
        receiver.mark = receiver.mark.max(LogMark(mark));
        receiver.on_sequence(Sequence(sequence));
    }
    let mut vote = |appended: u64, synced: u64| {
        let vote = receiver.vote(LogMark(appended), LogMark(synced));
        receiver.told = vote;
        [vote.received.0, vote.appended.0, vote.synced.0]
    };
    assert_eq!(vote(4, 0), [7, 1, 1], "what is in no log counts at once");
    assert_eq!(vote(5, 4), [7, 4, 1]);
    assert_eq!(vote(6, 5), [7, 7, 4]);
    assert_eq!(vote(6, 6), [7, 7, 7]);
    assert!(receiver.unvoted.is_empty());
}

#[test]
fn a_turn_that_comes_after_its_batch_was_appended_is_its_own() {
    let mut receiver = Receiver {
        mark: LogMark(5),
        ..Receiver::default()
    };
    receiver.on_sequence(Sequence(1));
    let vote = receiver.vote(LogMark(5), LogMark(0));
    receiver.told = vote;
    receiver.on_sequence(Sequence(2));
    let vote = receiver.vote(LogMark(5), LogMark(0));
    assert_eq!(vote.appended, Sequence(2));
}

#[test]
fn a_vote_rises_with_what_it_says_less_of() {
    let is_ordered = |received, appended, synced| {
        let vote = Vote {
            received: Sequence(received),
            appended: Sequence(appended),
            ..Vote::up_to(Sequence(synced))
        };
        vote.is_ordered()
    };
    assert!(is_ordered(3, 3, 3) && is_ordered(3, 2, 1));
    assert!(!is_ordered(3, 2, 3) && !is_ordered(2, 3, 1) && !is_ordered(1, 2, 2));
}

#[test]
fn turns_that_wait_for_one_batch_are_kept_as_one() {
    let mut receiver = Receiver {
        mark: LogMark(5),
        ..Receiver::default()
    };
    for sequence in 1..1000 {
        receiver.on_sequence(Sequence(sequence));
    }
    assert_eq!(receiver.unvoted, [(Sequence(999), LogMark(5))]);
}

#[test]
fn nobody_hears_of_what_came_before_the_log_has_it() {
    let mut receiver = Receiver {
        mark: LogMark(5),
        ..Receiver::default()
    };
    receiver.note(Durability::Log);
    receiver.on_sequence(Sequence(1));
    assert_eq!(receiver.next_vote(LogMark(4), LogMark(0)), None);
    let vote = receiver.next_vote(LogMark(5), LogMark(0));
    let appended = Vote {
        synced: Sequence(0),
        ..Vote::up_to(Sequence(1))
    };
    assert_eq!(vote, Some(appended));
    assert_eq!(receiver.next_vote(LogMark(5), LogMark(0)), None, "again");
    let vote = receiver.next_vote(LogMark(5), LogMark(5));
    assert_eq!(vote, Some(Vote::up_to(Sequence(1))));
}

#[test]
fn what_needs_no_log_is_voted_for_when_its_turn_has_ended() {
    let mut receiver = Receiver {
        mark: LogMark(5),
        ..Receiver::default()
    };
    receiver.note(Durability::Log);
    receiver.on_sequence(Sequence(1));
    // A record of a table in memory, whose turn has not ended.
    receiver.note(Durability::Memory);
    assert_eq!(receiver.next_vote(LogMark(4), LogMark(0)), None);
    receiver.on_sequence(Sequence(2));
    let vote = receiver.next_vote(LogMark(4), LogMark(0));
    assert_eq!(
        vote.map(|it| (it.received, it.appended)),
        Some((Sequence(2), Sequence(0)))
    );
    receiver.note(Durability::Log);
    receiver.on_sequence(Sequence(3));
    assert_eq!(
        receiver.next_vote(LogMark(4), LogMark(0)),
        None,
        "of that one only"
    );
}
