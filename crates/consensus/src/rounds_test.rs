use super::*;

#[test]
fn rounds_are_lost_with_their_term_and_answered_once() {
    let mut rounds = Rounds::default();
    let (one, two, three) = (rounds.begin(7, 3), rounds.begin(8, 3), rounds.begin(9, 4));
    assert_eq!((one, two, three), (1, 2, 3));
    assert_eq!(rounds.answered(one), Some(7));
    assert_eq!(rounds.answered(one), None);
    assert_eq!(rounds.lost(Some(4)), [8]);
    assert_eq!(rounds.lost(Some(4)), [0; 0]);
    assert_eq!(rounds.lost(None), [9]);
}
