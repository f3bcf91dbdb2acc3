use super::*;

#[test]
fn equal_bytes_finds_exactly_the_equal_bytes() {
    let mut word = 0x0123_4567_89ab_cdef_u64;
    for step in 0..200_000_u64 {
        word = word
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(step);
        // Few different values, so that equal and nearly equal bytes are common.
        let spread = word & 0x8103_0181_0280_0101;
        let byte = (step % 5) as u8 | if step & 64 == 0 { 0x80 } else { 0 };
        let bytes = spread.to_le_bytes();
        let expected = (0..8).filter(|&at| bytes[at] == byte);
        let expected = expected.fold(0, |bits, at| bits | 1 << (8 * at));
        assert_eq!(equal_bytes(spread, byte), expected, "{spread:#x} {byte:#x}");
    }
}

#[test]
fn bucket_and_cell_keep_tags_references_and_link_apart() {
    fn check<L: Line>(mut line: L) {
        line.set_link(u32::MAX);
        assert_eq!(line.matches(0), L::SLOTS);
        let slots = L::SLOTS.count() as usize;
        for slot in L::SLOTS {
            line.set(slot, slot as u8 + 1, u32::MAX - slot as u32);
        }
        assert_eq!(line.taken(), L::SLOTS);
        for slot in 0..slots {
            assert_eq!(line.matches(slot as u8 + 1).collect::<Vec<_>>(), [slot]);
            assert_eq!(line.reference(slot), u32::MAX - slot as u32);
        }
        assert_eq!(line.matches(0).first(), None);
        assert_eq!(line.link(), u32::MAX);
    }
    check([0; BUCKET_BYTES]);
    check([0; CELL_BYTES]);
}
