//! A hint file of any bytes: reading it never panics, and what it yields fits into the file.
//!
//! The checksums are put right first, so that the fuzzer reaches what is behind them.

use brickyard_store::read_hints;

const HEADER_BYTES: usize = 64;

/// See the module.
pub(super) fn run(input: &[u8]) {
    check(input);
    if input.len() < HEADER_BYTES {
        return;
    }
    let mut bytes = input.to_vec();
    bytes[..8].copy_from_slice(b"BRKYHINT");
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    let entries = crc32fast::hash(&bytes[HEADER_BYTES..]);
    bytes[20..24].copy_from_slice(&entries.to_le_bytes());
    let len = (bytes.len() - HEADER_BYTES) as u64;
    bytes[32..40].copy_from_slice(&len.to_le_bytes());
    let header = crc32fast::hash(&bytes[..60]);
    bytes[60..64].copy_from_slice(&header.to_le_bytes());
    check(&bytes);
}

fn check(bytes: &[u8]) {
    let mut key_bytes = 0;
    // An error is an answer; only a panic is not.
    let _ = read_hints(bytes, &mut |_, record| {
        let entries: usize = record.entries().map(|entry| entry.key.len()).sum();
        key_bytes += record.key.len() + entries;
    });
    assert!(key_bytes <= bytes.len());
}

/// The hint files of the kept format.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let kept: [&[u8]; 3] = [
        include_bytes!("../../../store/testdata/v1/good/000001.hint"),
        include_bytes!("../../../store/testdata/v1/torn-tail/000001.hint"),
        include_bytes!("../../../store/testdata/v1/replicated/000001.hint"),
    ];
    kept.iter().map(|file| file.to_vec()).collect()
}
