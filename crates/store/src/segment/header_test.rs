use super::*;

fn header() -> SegmentHeader {
    SegmentHeader {
        segment: SegmentId(3),
        brick: BrickId(1),
        directory: DirectoryId(*b"0123456789abcdef"),
        created: UnixMillis(1_700_000_000_000),
    }
}

#[test]
fn reads_back_what_it_wrote() {
    assert_eq!(SegmentHeader::decode(&header().encode()), Ok(header()));
}

#[test]
fn any_flipped_byte_is_found() {
    for at in 0..SEGMENT_HEADER_BYTES {
        let mut bytes = header().encode();
        bytes[at] ^= 0x40;
        assert_eq!(
            SegmentHeader::decode(&bytes),
            Err(HeaderError::Unreadable),
            "byte {at}"
        );
    }
}

#[test]
fn other_format_is_told_from_damage() {
    let mut bytes = header().encode();
    bytes[8] = 9;
    let crc = crc32fast::hash(&bytes[..60]);
    put_u32(&mut bytes, 60, crc);
    assert_eq!(
        SegmentHeader::decode(&bytes),
        Err(HeaderError::OtherFormat { found: 9 })
    );
    assert_eq!(SegmentHeader::decode(&bytes[..63]), Err(HeaderError::Short));
}
