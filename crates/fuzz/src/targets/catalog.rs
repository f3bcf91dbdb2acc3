//! Any bytes as a catalog: no panic, and what is read is written as it was.
//!
//! Everything before the body is put right first, so that the body is reached.

use brickyard_metadata::Catalog;

const HEADER_BYTES: usize = 20;

/// See the module.
pub(super) fn run(input: &[u8]) {
    check(input);
    if input.len() < HEADER_BYTES {
        return;
    }
    let mut sound = input.to_vec();
    sound[..8].copy_from_slice(b"BRKCATLG");
    sound[8..12].copy_from_slice(&1u32.to_le_bytes());
    let len = (sound.len() - HEADER_BYTES) as u32;
    sound[12..16].copy_from_slice(&len.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&sound[..16]);
    crc.update(&sound[HEADER_BYTES..]);
    sound[16..20].copy_from_slice(&crc.finalize().to_le_bytes());
    check(&sound);
}

fn check(bytes: &[u8]) {
    match Catalog::decode(bytes) {
        Ok(catalog) => {
            let again = Catalog::decode(&catalog.encode());
            assert_eq!(again.as_ref(), Ok(&catalog), "what is written can be read");
        }
        // Every refusal has its sentence.
        Err(error) => drop(error.to_string()),
    }
}

/// A catalog as the tests of the format have it, and one that was just founded.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let kept = include_bytes!("../../../metadata/testdata/v1/catalog");
    vec![kept.to_vec(), super::agreed_entry::founded().encode()]
}
