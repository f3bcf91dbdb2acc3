use super::*;

#[test]
fn majority_is_seen_where_there_is_one_and_nowhere_else() {
    let is_narrow = |slots: &[u16]| {
        let mut load_meter = LoadMeter::default();
        for at in 0..2_000 {
            load_meter.note(slots[at % slots.len()]);
        }
        load_meter.vote.has_majority()
    };
    assert!(is_narrow(&[5]));
    assert!(is_narrow(&[5, 5, 5, 9]));
    assert!(!is_narrow(&[5, 6, 7, 8]));
    assert!(!is_narrow(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
}

#[test]
fn new_partition_is_not_taken_for_hot_since_it_has_many_operations_already() {
    let mut load_meter = LoadMeter::default();
    load_meter.look(Op(1_000_000), Duration::from_secs(1));
    assert_eq!(load_meter.writes, 0);
    load_meter.look(Op(1_000_100), Duration::from_secs(1));
    assert_eq!(load_meter.writes, 100 * PARTS / 4);
    load_meter.look(Op(1_000_000), Duration::from_secs(1));
    assert_eq!(
        load_meter.writes,
        100 * PARTS / 4 * 3 / 4,
        "a cut is no write"
    );
}
