use super::*;
use crate::random::Random;

fn place(bits: u64, depth: u8, op: u64) -> Place {
    let first = if depth == 0 { 0 } else { bits << (64 - depth) };
    Place {
        prefix: Prefix::of(RoutingHash(first), depth),
        generation: 1 + (op % 3) as u32,
        view: View(op as u32 % 1000),
        op: Op(op),
    }
}

fn position(table: u32, places: Vec<Place>) -> Position {
    Position::of(TableId(table), places)
}

#[test]
fn what_is_written_is_read() {
    let mut random = Random::new(1);
    for round in 0..200 {
        let depth = (round % 25) as u8;
        let few = (1_u64 << depth).min(40);
        let mut bits: Vec<u64> = (0..few).map(|_| random.next() % (1 << depth)).collect();
        bits.sort_unstable();
        bits.dedup();
        let places = bits
            .iter()
            .map(|it| place(*it, depth, random.next() >> (round % 60)));
        let position = position(round, places.collect());
        let text = position.text();
        assert!(text.bytes().all(|it| it.is_ascii_graphic()), "{text}");
        assert_eq!(Position::parse(text.as_bytes()), Ok(position));
    }
}

#[test]
fn a_position_that_was_changed_is_none() {
    let text = position(3, vec![place(0, 1, 7), place(1, 1, 300)]).text();
    for at in 0..text.len() {
        for other in [b'A', b'_', b'7', b' ', b'\n', 0] {
            let mut changed = text.clone().into_bytes();
            if changed[at] == other {
                continue;
            }
            changed[at] = other;
            assert!(Position::parse(&changed).is_err(), "{at} {other}");
        }
        assert!(Position::parse(&text.as_bytes()[..at]).is_err(), "{at}");
    }
    assert!(Position::parse((text + "A").as_bytes()).is_err());
}

#[test]
fn no_bytes_make_it_panic() {
    let mut random = Random::new(2);
    for _ in 0..2000 {
        let len = random.next() % 40;
        let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        let _ = Position::parse(&bytes);
        // What has a right checksum is looked at more closely.
        let mut body = vec![VERSION];
        body.extend_from_slice(&bytes);
        let sum = crc32fast::hash(&body);
        body.extend_from_slice(&sum.to_le_bytes());
        let _ = Position::parse(URL_SAFE_NO_PAD.encode(&body).as_bytes());
    }
}

#[test]
fn places_that_overlap_are_no_position() {
    let of = |places: Vec<Place>| Position {
        table: TableId(1),
        places,
    };
    for places in [
        vec![place(0, 1, 1), place(0, 2, 1)],
        vec![place(1, 1, 1), place(0, 1, 1)],
        vec![place(0, 0, 1), place(1, 1, 1)],
    ] {
        let text = of(places).text();
        assert_eq!(
            Position::parse(text.as_bytes()),
            Err(PositionError::Garbage)
        );
    }
}

#[test]
fn a_position_of_a_later_version_is_told_from_garbage() {
    let mut body = vec![VERSION + 1, 2, 3];
    let sum = crc32fast::hash(&body);
    body.extend_from_slice(&sum.to_le_bytes());
    let parsed = Position::parse(URL_SAFE_NO_PAD.encode(&body).as_bytes());
    assert_eq!(parsed, Err(PositionError::Version));
}

#[test]
fn one_that_is_too_long_is_not_looked_at() {
    let text = vec![b'A'; TEXT_BYTES_MAX + 1];
    assert_eq!(Position::parse(&text), Err(PositionError::Garbage));
}

#[test]
fn places_within_a_range_are_those_that_overlap_it() {
    let mut random = Random::new(3);
    for _ in 0..200 {
        let mut places: Vec<Place> = Vec::new();
        for bits in 0..16 {
            if !random.next().is_multiple_of(3) {
                places.push(place(bits, 4, bits));
            }
        }
        let position = position(1, places.clone());
        let depth = (random.next() % 7) as u8;
        let range = place(random.next() % (1 << depth), depth, 0).prefix;
        places.retain(|it| it.prefix.overlaps(range));
        assert_eq!(position.within(range), places, "{range}");
    }
}
