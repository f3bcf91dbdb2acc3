//! The first 64 bytes of the file.
//!
//! ```text
//!  0  8 bytes  magic "BRKYCTRL"
//!  8  u32      format, 1
//! 12  u32      0
//! 16  u64      base: bytes that were synced before the file got its name
//! 24  u64      created, milliseconds since the Unix epoch
//! 32 16 bytes  directory id
//! 48 12 bytes  0
//! 60  u32      CRC-32 of bytes 0..60
//! ```
//! Magic, format and the checksum at 60 have these places in every file of the store.

use super::error::ControlDamage;
use crate::FORMAT_VERSION;
use crate::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::segment::header::DirectoryId;

pub(super) const HEADER_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"BRKYCTRL";
const CRC_AT: usize = 60;

pub(super) struct Header {
    pub(super) base: u64,
    pub(super) created: u64,
    pub(super) directory: DirectoryId,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        put_u32(&mut bytes, 8, FORMAT_VERSION);
        put_u64(&mut bytes, 16, self.base);
        put_u64(&mut bytes, 24, self.created);
        bytes[32..48].copy_from_slice(&self.directory.0);
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        put_u32(&mut bytes, CRC_AT, crc);
        bytes
    }

    /// The directory that a file says it is of.
    pub(super) fn directory(bytes: &[u8]) -> Option<DirectoryId> {
        let id = bytes.get(32..48)?.try_into().ok()?;
        Some(DirectoryId(id))
    }

    /// Checks that the file is of this directory, and reads its header.
    pub(super) fn decode(bytes: &[u8], directory: DirectoryId) -> Result<Self, ControlDamage> {
        let at = |what| ControlDamage::Damaged { offset: 0, what };
        let head = bytes
            .first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| at("it ends within its header"))?;
        if head[..8] != MAGIC || crc32fast::hash(&head[..CRC_AT]) != u32_at(head, CRC_AT) {
            return Err(at("its header is unreadable"));
        }
        let found = u32_at(head, 8);
        if found != FORMAT_VERSION {
            return Err(ControlDamage::OtherFormat { found });
        }
        let mut id = [0; 16];
        id.copy_from_slice(&head[32..48]);
        if id != directory.0 {
            return Err(ControlDamage::Foreign {
                found: DirectoryId(id),
                expected: directory,
            });
        }
        Ok(Self {
            base: u64_at(head, 16),
            created: u64_at(head, 24),
            directory,
        })
    }
}
