//! The checksum at the end of a snapshot: CRC-64 by Jones' polynomial, reflected, from 0.

/// The polynomial 0xad93d23594c935a9 with its bits reversed.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

static TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ POLYNOMIAL
            } else {
                sum >> 1
            };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

/// The sum of what `sum` is of, and `bytes` behind it.
pub(super) fn update(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| {
        TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8)
    })
}

#[cfg(test)]
mod crc64_test {
    #[test]
    fn sum_is_that_of_the_published_check() {
        assert_eq!(super::update(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        let halves = super::update(super::update(0, b"1234"), b"56789");
        assert_eq!(halves, 0xe9c6_d914_c4b8_d9ca);
    }
}
