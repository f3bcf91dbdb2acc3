use super::*;

#[test]
fn places_are_taken_by_size_and_forgotten_by_place_and_chunk() {
    let mut holes = Holes::new();
    let place = |chunk: u32, at: u32| RecordRef(chunk << 18 | at);
    holes.push(place(0, 1), 32);
    holes.push(place(1, 2), 32);
    holes.push(place(1, 3), 40);
    assert_eq!(holes.take(24), None);
    assert_eq!(holes.take(1 << 20), None);
    holes.forget(place(0, 1), 32);
    assert_eq!(holes.take(32), Some(place(1, 2)));
    assert_eq!(holes.take(32), None);
    holes.push(place(0, 5), 40);
    holes.forget_chunk(1);
    assert_eq!(holes.take(40), Some(place(0, 5)));
    assert_eq!(holes.take(40), None);
}

#[test]
fn only_so_many_places_are_remembered() {
    let mut holes = Holes::new();
    for at in 0..1000 {
        holes.push(RecordRef(at), 64);
        holes.push(RecordRef(at), 1 << 20);
    }
    assert_eq!(holes.places().count(), PLACES_MAX);
}
