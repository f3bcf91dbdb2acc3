use super::*;

const CHANGES: [ConfChange; 4] = [
    ConfChange::AddLearner(7),
    ConfChange::Promote(7),
    ConfChange::Demote(7),
    ConfChange::Remove(7),
];

#[test]
fn change_is_a_byte_and_a_node() {
    for (kind, change) in (1..).zip(CHANGES) {
        let bytes = change.encode();
        assert_eq!(bytes, [kind, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(ConfChange::decode(&bytes), Some(change));
        assert_eq!(ConfChange::decode(&bytes[..8]), None);
        assert_eq!(
            ConfChange::decode(&[kind, 0, 0, 0, 0, 0, 0, 0, 0]),
            None,
            "nobody"
        );
        let one = [kind, 1, 0, 0, 0, 0, 0, 0, 0];
        assert!(ConfChange::decode(&one).is_some());
    }
    for kind in [0, 5] {
        assert_eq!(ConfChange::decode(&[kind, 7, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}

fn members(voters: &[u64], learners: &[u64]) -> Members {
    Members {
        voters: voters.to_vec(),
        learners: learners.to_vec(),
    }
}

#[test]
fn members_are_sound_if_there_is_a_voter_and_nobody_is_named_twice() {
    assert!(members(&[1, 2], &[3]).is_sound());
    for (voters, learners) in [
        (&[][..], &[3][..]),
        (&[1, 2], &[1]),
        (&[1, 1], &[]),
        (&[1, 2], &[0]),
    ] {
        assert!(
            !members(voters, learners).is_sound(),
            "{voters:?}, {learners:?}"
        );
    }
    let known = members(&[1, 2], &[3]);
    assert_eq!([1, 3, 4].map(|it| known.contains(it)), [true, true, false]);
}

#[test]
fn members_are_known_from_the_index_from_which_on_they_take_part() {
    let mut history = History::new(10, members(&[1], &[]));
    history.push(20, members(&[1], &[2]));
    history.push(30, members(&[1, 2], &[]));
    assert_eq!(history.at(19), members(&[1], &[]));
    assert_eq!(history.at(20), members(&[1], &[2]));
    history.forget_before(19);
    assert_eq!(history.since.len(), 3);
    history.forget_before(20);
    assert_eq!(history.since.len(), 2);
    assert_eq!(history.at(20), members(&[1], &[2]));
    history.forget_before(99);
    assert_eq!(history.at(99), members(&[1, 2], &[]));
}
