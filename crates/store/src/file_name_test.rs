use super::*;

#[test]
fn names_are_padded_and_read_back() {
    assert_eq!(segment(SegmentId(42)), "000042.seg");
    assert_eq!(parse_segment("000042.seg"), Some(SegmentId(42)));
    assert_eq!(parse_segment("1234567.seg"), Some(SegmentId(1_234_567)));
    assert_eq!(parse_hint(&hint(SegmentId(7))), Some(SegmentId(7)));
    for foreign in [
        "42.seg",
        "+00042.seg",
        "000000.seg",
        "000042.hint",
        "x.seg",
        "000042.seg.tmp",
    ] {
        assert_eq!(parse_segment(foreign), None, "{foreign}");
    }
}
