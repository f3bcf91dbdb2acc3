use super::*;
use brickyard_routing::RoutingHash;
use brickyard_types::{Op, View};

fn place(bits: u64, depth: u8, op: u64) -> Place {
    let first = if depth == 0 { 0 } else { bits << (64 - depth) };
    Place {
        prefix: Prefix::of(RoutingHash(first), depth),
        generation: 1,
        view: View(1),
        op: Op(op),
    }
}

fn piece(places: Vec<Place>, count: u64) -> Piece {
    Piece {
        position: Position::of(TableId(1), places).text().into_bytes(),
        count,
        changes: b"x".repeat(count as usize),
    }
}

#[test]
fn what_nobody_tells_of_keeps_its_place() {
    let told = [place(0b00, 2, 9), place(0b1, 1, 9)];
    assert_eq!(rest_of(&place(0, 0, 5), &told), [place(0b01, 2, 5)]);
    assert_eq!(rest_of(&place(0b001, 3, 5), &told), []);
    assert_eq!(rest_of(&place(0b01, 2, 5), &told), [place(0b01, 2, 5)]);
    assert_eq!(rest_of(&place(0, 0, 5), &[]), [place(0, 0, 5)]);
}

#[test]
fn what_two_bricks_tell_is_taken_once() {
    let mut round = Round::default();
    for told in [
        piece(vec![place(0, 1, 9)], 2),
        piece(vec![place(0b00, 2, 8), place(0b01, 2, 8)], 5),
        piece(vec![place(0, 0, 8)], 7),
        piece(vec![place(1, 1, 3)], 1),
    ] {
        assert_eq!(round.take(told), Some(()));
    }
    assert_eq!((round.count, round.changes.len()), (3, 3));
    let places = round.places.values().copied();
    assert!(places.eq([place(0, 1, 9), place(1, 1, 3)]));
    let garbage = Piece {
        position: b"garbage".to_vec(),
        ..Piece::default()
    };
    assert_eq!(round.take(garbage), None);
}

#[test]
fn a_share_is_read_as_it_was_written_and_nothing_else_is_one() {
    let share = Share {
        pieces: vec![piece(vec![place(0, 1, 9)], 2)],
        is_cut: true,
    };
    let mut bytes = Vec::new();
    share.encode(&mut bytes);
    assert_eq!(Share::decode(&bytes), Some(share));
    assert_eq!(Share::decode(&bytes[1..]), None);
    assert_eq!(Share::decode(b""), None);
    assert_eq!(
        split(&join(&[bytes.clone(), Vec::new()])),
        Some(vec![&bytes[..], b""])
    );
    assert_eq!(split(b"12345678"), None);
}
