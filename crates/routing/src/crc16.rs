//! CRC-16/XMODEM, the checksum behind Redis Cluster's slots.
//!
//! In: bytes. Out: the checksum (polynomial 0x1021, start 0, no reflection, no final xor).
//!
//! It is computed for every key of every request, so up to 16 bytes are folded in one step: table
//! `k` holds the effect of a byte that is followed by `k` more, and the effects are independent
//! lookups that the processor runs side by side ("slicing", Kounavis & Berry, 2005). 8 KiB of
//! tables; 1.4 to 2.4 times as fast as the `crc` crate's 16 tables on keys of 7 to 40 bytes.

const SLICES: usize = 16;

static TABLES: [[u16; 256]; SLICES] = tables();

const fn tables() -> [[u16; 256]; SLICES] {
    let mut tables = [[0; 256]; SLICES];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut slice = 1;
    while slice < SLICES {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[slice - 1][byte];
            tables[slice][byte] = (before << 8) ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        slice += 1;
    }
    tables
}

/// The CRC-16/XMODEM of `bytes`.
#[inline]
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0;
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
        crc = fold(crc, chunk);
        rest = after;
    }
    if let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        crc = fold(crc, chunk);
        rest = after;
    }
    if let Some((chunk, after)) = rest.split_first_chunk::<4>() {
        crc = fold(crc, chunk);
        rest = after;
    }
    for &byte in rest {
        crc = (crc << 8) ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)];
    }
    crc
}

/// Folds `N` bytes (2 to 16) into `crc` at once. The two bytes of the running checksum meet the
/// first two bytes of the chunk; every later byte acts on its own.
#[inline(always)]
fn fold<const N: usize>(crc: u16, chunk: &[u8; N]) -> u16 {
    let mut folded = TABLES[N - 1][usize::from(chunk[0] ^ (crc >> 8) as u8)]
        ^ TABLES[N - 2][usize::from(chunk[1] ^ crc as u8)];
    let mut at = 2;
    while at < N {
        folded ^= TABLES[N - 1 - at][usize::from(chunk[at])];
        at += 1;
    }
    folded
}

#[cfg(test)]
#[path = "crc16_test.rs"]
mod crc16_test;
