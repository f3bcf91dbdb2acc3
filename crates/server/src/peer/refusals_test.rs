use super::*;

#[test]
fn a_line_a_second_says_how_many_it_stands_for() {
    let refusals = Refusals::default();
    let start = Instant::now();
    assert_eq!(refusals.take_turn(start), Some(0));
    for _ in 0..1000 {
        assert_eq!(refusals.take_turn(start), None);
    }
    assert_eq!(refusals.take_turn(start + TOLD_EVERY), Some(1000));
    assert_eq!(refusals.take_turn(start + 3 * TOLD_EVERY), Some(0));
}
