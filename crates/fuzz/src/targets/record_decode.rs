//! Any bytes as a log record: no panic, and what is read writes back as the same bytes.
//!
//! Random bytes do not have the checksums of a record, so the input is also used with them filled
//! in: then the fields behind them are reached.
use brickyard_types::record::{self, HEADER_BYTES};

/// See the module.
pub(super) fn run(data: &[u8]) {
    check(data);
    let _ = record::entries(data).count();
    if data.len() >= HEADER_BYTES {
        let mut sound = data.to_vec();
        let body_len = (sound.len() - HEADER_BYTES) as u32;
        sound[8..12].copy_from_slice(&body_len.to_le_bytes());
        let body_crc = crc32fast::hash(&sound[HEADER_BYTES..]);
        sound[4..8].copy_from_slice(&body_crc.to_le_bytes());
        let header_crc = crc32fast::hash(&sound[4..HEADER_BYTES]);
        sound[0..4].copy_from_slice(&header_crc.to_le_bytes());
        check(&sound);
    }
}

fn check(bytes: &[u8]) {
    let Ok(record) = record::decode(bytes) else {
        return;
    };
    assert!(record.len <= bytes.len());
    let _ = record::entries(record.value).count();
    let mut out = Vec::new();
    let (outcome, value) = (record.outcome, [record.value]);
    let len = record::encode_with(&mut out, &record.header, outcome, record.key, &value);
    assert_eq!(len, out.len());
    assert_eq!(out, bytes[..record.len]);
}

/// Records of several kinds.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    super::records()
}
