use super::*;

fn damage(segment: u32, offset: u32, len: u32) -> Damage {
    Damage {
        segment: SegmentId(segment),
        offset,
        len,
        part: Part::Record,
        tainted: Tainted::All,
        cause: None,
    }
}

#[test]
fn damages_that_touch_are_one_and_others_are_not() {
    let mut damages = Vec::new();
    for (segment, offset) in [(1, 100), (1, 150), (1, 250), (2, 300)] {
        push_damage(&mut damages, damage(segment, offset, 50));
    }
    let expected = [damage(1, 100, 100), damage(1, 250, 50), damage(2, 300, 50)];
    assert_eq!(damages, expected);
}
