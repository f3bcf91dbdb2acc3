//! A record in a backup, and its bytes.
//!
//! ```text
//! op u64 | expiry u64, 2^64-1: never | key length u32 | value length u32, 2^32-1: in an earlier backup | key | value
//! ```
//! The highest bit of the key's length says that the value is no string: it is a payload as `DUMP` has it, then.
//! Numbers are little-endian.

use anyhow::{Context, ensure};
use brickyard_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

const FOR_EVER: u64 = u64::MAX;
const EARLIER: u32 = u32::MAX;
const HEADER_BYTES: usize = 24;
const IS_PAYLOAD: u32 = 1 << 31;

/// Seed of the digests of contents; part of the format.
const DIGEST_SEED: u64 = 0x6272_6963_6b79_6172;

/// A record of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: Vec<u8>,
    /// The op that wrote it.
    pub op: u64,
    /// When the key is gone, in milliseconds since 1970.
    pub expires_at: Option<u64>,
    /// `None`: an earlier backup has it.
    pub value: Option<Vec<u8>>,
    /// It is no string's bytes, but the payload of another value, as `DUMP` has it.
    pub is_payload: bool,
}

impl Row {
    /// Adds its bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.op.to_le_bytes());
        out.extend_from_slice(&self.expires_at.unwrap_or(FOR_EVER).to_le_bytes());
        let form = if self.is_payload { IS_PAYLOAD } else { 0 };
        out.extend_from_slice(&(self.key.len() as u32 | form).to_le_bytes());
        let value_len = self.value.as_ref().map_or(EARLIER, |it| it.len() as u32);
        out.extend_from_slice(&value_len.to_le_bytes());
        out.extend_from_slice(&self.key);
        out.extend_from_slice(self.value.as_deref().unwrap_or_default());
    }

    /// Takes a row from the front of `bytes`.
    ///
    /// # Errors
    /// If they end too early, or say a size that no record has.
    pub fn decode(bytes: &mut &[u8]) -> anyhow::Result<Self> {
        let header = take(bytes, HEADER_BYTES)?;
        let long = |at: usize| header[at..at + 8].try_into().map(u64::from_le_bytes);
        let short = |at: usize| header[at..at + 4].try_into().map(u32::from_le_bytes);
        let (op, expiry) = (long(0)?, long(8)?);
        let (key_word, value_len) = (short(16)?, short(20)?);
        let is_payload = key_word & IS_PAYLOAD != 0;
        let key_len = (key_word & !IS_PAYLOAD) as usize;
        ensure!(key_len <= KEY_BYTES_MAX, "a key of {key_len} bytes");
        let key = take(bytes, key_len)?.to_vec();
        let value = match value_len {
            EARLIER => None,
            len => {
                let len = len as usize;
                // A payload has its lengths and a sum besides.
                ensure!(
                    len <= VALUE_BYTES_MAX || is_payload,
                    "a value of {len} bytes"
                );
                Some(take(bytes, len)?.to_vec())
            }
        };
        Ok(Self {
            key,
            op,
            expires_at: (expiry != FOR_EVER).then_some(expiry),
            value,
            is_payload,
        })
    }

    /// A hash of what a client sees of it; the sum over a table's rows does not depend on how they are
    /// partitioned, nor on what wrote them.
    #[must_use]
    pub fn content(&self) -> u64 {
        let mut bytes = Vec::with_capacity(16 + self.key.len());
        bytes.extend_from_slice(&(self.key.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&self.expires_at.unwrap_or(FOR_EVER).to_le_bytes());
        bytes.extend_from_slice(&self.key);
        bytes.extend_from_slice(self.value.as_deref().unwrap_or_default());
        rapidhash_v3_seeded(&bytes, &RapidSecrets::seed(DIGEST_SEED))
    }
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> anyhow::Result<&'a [u8]> {
    let (taken, rest) = bytes
        .split_at_checked(len)
        .context("a record ends before its last byte")?;
    *bytes = rest;
    Ok(taken)
}
