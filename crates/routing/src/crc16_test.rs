use super::crc16;
use proptest::prelude::*;

/// The definition, one bit after the other.
fn crc16_by_definition(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, &byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 {
                shifted
            } else {
                shifted ^ 0x1021
            }
        })
    })
}

#[test]
fn has_the_check_value_of_the_catalogue() {
    assert_eq!(crc16(b"123456789"), 0x31c3);
    assert_eq!(crc16(b""), 0);
}

proptest! {
    #[test]
    fn equals_the_definition_at_every_length(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert_eq!(crc16(&bytes), crc16_by_definition(&bytes));
    }
}
