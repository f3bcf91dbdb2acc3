use super::*;

const MAGIC: &[u8; 8] = b"BRKYTEST";

#[test]
fn body_comes_back() {
    let bytes = seal_envelope(MAGIC, 3, b"body");
    assert_eq!(open_envelope(MAGIC, 3, &bytes), Ok((3, &b"body"[..])));
    assert_eq!(open_envelope(MAGIC, 7, &bytes), Ok((3, &b"body"[..])));
}

#[test]
fn newer_and_foreign_are_told_apart_from_damage() {
    let bytes = seal_envelope(MAGIC, 3, b"body");
    let newer = EnvelopeError::Newer {
        found: 3,
        supported: 2,
    };
    assert_eq!(open_envelope(MAGIC, 2, &bytes), Err(newer));
    assert_eq!(
        open_envelope(b"OTHERONE", 3, &bytes),
        Err(EnvelopeError::Magic)
    );
}

#[test]
fn any_flipped_byte_and_any_cut_is_found() {
    let bytes = seal_envelope(MAGIC, 3, b"body");
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        assert_eq!(
            open_envelope(MAGIC, 3, &flipped),
            Err(EnvelopeError::Damaged),
            "byte {at}"
        );
        assert_eq!(
            open_envelope(MAGIC, 3, &bytes[..at]),
            Err(EnvelopeError::Damaged)
        );
    }
}
