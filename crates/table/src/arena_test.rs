use super::*;
use crate::id::LocalPartition;
use crate::record::{Header, Layout, State, write_header};
use brickyard_types::{Medium, Op, ValueType};

/// An arena whose records are headers and zeroes.
fn record_in(arena: &mut Arena, size: usize) -> RecordRef {
    let reference = arena.allocate(size).unwrap();
    write_header(arena.at_mut(reference), header(size));
    reference
}

fn header(size: usize) -> Header {
    Header::new(
        State::Hot,
        (ValueType::String, size - record::HEADER_BYTES),
        LocalPartition(0),
        Op(1),
    )
}

fn occupants(arena: &Arena, chunk: usize) -> Vec<(usize, bool)> {
    let mut walk = Walk { chunk, offset: 0 };
    let mut occupants = Vec::new();
    while let Some((_, occupant)) = arena.occupant(walk) {
        let (size, is_dead) = match occupant {
            Occupant::Dead(size) => (size, true),
            Occupant::Record(header) => (Layout::new(Medium::Ram).size(header), false),
        };
        occupants.push((size, is_dead));
        walk.offset += size;
    }
    arena.check_holes();
    occupants
}

#[test]
fn freed_space_is_used_for_the_next_record_of_its_size() {
    let mut arena = Arena::new();
    let first = record_in(&mut arena, 64);
    let second = record_in(&mut arena, 32);
    arena.free(first, 64);
    assert_eq!(record_in(&mut arena, 40).offset(), 96);
    assert_eq!(record_in(&mut arena, 64), first);
    assert_eq!(
        occupants(&arena, 0),
        [(64, false), (32, false), (40, false)]
    );
    assert_eq!(
        (arena.live(), arena.used(), second.offset()),
        (136, 136, 64)
    );
}

#[test]
fn record_shrinks_and_grows_into_the_dead_space_behind_it() {
    let mut arena = Arena::new();
    let first = record_in(&mut arena, 64);
    let second = record_in(&mut arena, 32);
    let third = record_in(&mut arena, 32);
    assert!(arena.fits(first, 64, 24));
    arena.resize(first, 64, 24);
    write_header(arena.at_mut(first), header(24));
    assert_eq!(
        occupants(&arena, 0),
        [(24, false), (40, true), (32, false), (32, false)]
    );
    assert!(
        !arena.fits(first, 24, 72),
        "the second record is in the way"
    );
    arena.free(second, 32);
    let inside = Walk {
        chunk: 0,
        offset: 64,
    };
    arena.set_walk(Walker::Clock, Some(inside));
    assert!(arena.fits(first, 24, 72));
    arena.resize(first, 24, 72);
    write_header(arena.at_mut(first), header(72));
    assert_eq!(occupants(&arena, 0), [(72, false), (24, true), (32, false)]);
    assert_eq!(
        arena.walk(Walker::Clock),
        Some(Walk {
            chunk: 0,
            offset: 72
        })
    );
    assert!(
        !arena.fits(first, 72, 128),
        "the third record is in the way"
    );
    assert!(
        arena.fits(third, 32, 1024),
        "the last record grows into what was never used"
    );
    arena.resize(third, 32, 1024);
    write_header(arena.at_mut(third), header(1024));
    assert_eq!(
        occupants(&arena, 0),
        [(72, false), (24, true), (1024, false)]
    );
    assert_eq!((arena.live(), arena.used()), (1096, 1120));
}

#[test]
fn chunk_without_records_is_given_back_and_its_number_used_again() {
    let mut arena = Arena::new();
    let size = SHARED_RECORD_BYTES_MAX;
    let records: Vec<_> = (0..9).map(|_| record_in(&mut arena, size)).collect();
    assert_eq!(records.iter().map(|at| at.chunk()).max(), Some(2));
    for &at in &records[..4] {
        arena.free(at, size);
    }
    assert_eq!(arena.chunk_from(0), Some(1));
    assert_eq!(arena.used(), 5 * size);
    let large = record_in(&mut arena, CHUNK_BYTES + 8);
    assert_eq!(large, RecordRef(0));
    assert!(
        !arena.fits(large, CHUNK_BYTES + 8, 64),
        "a large record's chunk is not kept for a small"
    );
}

#[test]
fn arena_is_full_when_references_run_out() {
    let mut arena = Arena::new();
    // Nothing is written to them, so they take addresses and no memory.
    let size = SHARED_RECORD_BYTES_MAX + 8;
    for number in 0..CHUNKS_MAX {
        assert_eq!(arena.allocate(size).map(RecordRef::chunk), Ok(number));
    }
    assert_eq!(arena.allocate(size), Err(Full::Arena));
    assert_eq!(arena.allocate(64), Err(Full::Arena));
    arena.free(RecordRef::new(77, 0), size);
    assert_eq!(arena.allocate(64).map(RecordRef::chunk), Ok(77));
}
