//! Where fields of a hash stand in its order, and in which of its parts.
//!
//! In:  names, numbers of parts. Out: places, numbers of parts.
//!
//! A field's place is a hash of its name, the same on every node; HSCAN goes by places. The parts of a hash are added one at a time by
//! linear hashing (Litwin, "Linear hashing: a new tool for file and table addressing", 1980): a new part takes its fields from one part
//! alone. That goes by the bits of the place from the top, so that a part has the fields of one stretch of places.

use rapidhash::v3::rapidhash_v3;

/// Bits of a place. Clients take cursors for signed numbers, some for what a double holds exactly.
const BITS: u32 = 53;

/// Where a field stands: never 0, where a scan begins and ends.
#[inline]
pub(super) fn place(name: &[u8]) -> u64 {
    (rapidhash_v3(name) >> (64 - BITS)).max(1)
}

/// The part that has the fields of a place.
#[inline]
pub(super) fn part_of(place: u64, parts: u32) -> u32 {
    let level = level(parts);
    // The top bit is the lowest now.
    let number = (place << (64 - BITS)).reverse_bits();
    let wide = number & ((2 << level) - 1);
    let number = match wide < u64::from(parts) {
        true => wide,
        false => number & ((1 << level) - 1),
    };
    number as u32
}

/// The part that gives some of its fields to part `number` when that is added, or gets them back.
pub(super) fn buddy(number: u32) -> u32 {
    number - (1 << level(number))
}

/// The first place behind those of a part; 0: it has the last ones.
pub(super) fn end_of(part: u32, parts: u32) -> u64 {
    let level = level(parts);
    let is_split = part >= 1 << level || u64::from(part) + (1 << level) < u64::from(parts);
    let bits = level + u32::from(is_split);
    let first = match bits {
        0 => 0,
        bits => u64::from(part).reverse_bits() >> (64 - bits),
    };
    let end = (first + 1) << (BITS - bits);
    end & ((1 << BITS) - 1)
}

/// How many bits tell all parts but the last ones from one another.
fn level(parts: u32) -> u32 {
    assert!(parts > 0, "a hash of no parts");
    parts.ilog2()
}

#[cfg(test)]
mod place_test {
    use super::*;

    fn places() -> impl Iterator<Item = u64> {
        let spread = (0..2_000_u32).map(|it| place(&it.to_le_bytes()));
        spread.chain([1, (1 << BITS) - 1])
    }

    #[test]
    fn a_new_part_takes_from_its_buddy_alone() {
        for parts in 1..200 {
            for place in places() {
                let (before, after) = (part_of(place, parts), part_of(place, parts + 1));
                assert!(before < parts);
                assert!(
                    after == before || (after == parts && before == buddy(parts)),
                    "place {place:x} goes from part {before} to {after} of {parts} and one more"
                );
            }
        }
    }

    #[test]
    fn parts_are_about_as_large() {
        for parts in [2, 3, 7, 64] {
            let mut counts = vec![0; parts as usize];
            places().for_each(|place| counts[part_of(place, parts) as usize] += 1);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(
                *least > 0 && *most < 4 * (least + 10),
                "{parts}: {counts:?}"
            );
        }
    }

    #[test]
    fn a_part_is_one_stretch_of_places() {
        for parts in 1..130 {
            // From part to part, each begins where the one before ends.
            let (mut at, mut seen) = (0, 0);
            loop {
                let part = part_of(at, parts);
                let end = end_of(part, parts);
                let last = if end == 0 { 1 << BITS } else { end } - 1;
                assert!(at <= last);
                assert_eq!(part_of(last, parts), part, "{parts} parts");
                seen += 1;
                if end == 0 {
                    break;
                }
                assert_ne!(part_of(end, parts), part, "{parts} parts");
                at = end;
            }
            assert_eq!(seen, parts);
        }
    }
}
