//! The first 64 bytes of a segment, and what they have in common with other files of the store.
//!
//! ```text
//!  0  8 bytes  magic "BRKYSEGM"
//!  8  u32      format, 1
//! 12  u32      segment
//! 16  u32      brick
//! 20  u32      0
//! 24  u64      created, milliseconds since the Unix epoch
//! 32 16 bytes  directory id
//! 48 12 bytes  0
//! 60  u32      CRC-32 of bytes 0..60
//! ```
//! Magic, format and the checksum at 60 have these places in every file of the store, so that "of another
//! format" can be told from "damaged".

use crate::FORMAT_VERSION;
use crate::bytes::{put_u32, put_u64, u32_at, u64_at};
use brickyard_types::{BrickId, SegmentId, UnixMillis};
use std::fmt;

/// Bytes of the header.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"BRKYSEGM";
const CRC_AT: usize = 60;

/// A data directory's own number, drawn when it was made; each of its files carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryId(pub [u8; 16]);

impl fmt::Display for DirectoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a segment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) segment: SegmentId,
    pub(crate) brick: BrickId,
    pub(crate) directory: DirectoryId,
    pub(crate) created: UnixMillis,
}

/// Why the start of a file is not a header of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The file ends before the header does.
    Short,
    /// Magic or checksum are wrong.
    Unreadable,
    /// Sound, and of a format that this program does not know.
    OtherFormat { found: u32 },
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        assert!(self.segment.0 > 0, "0 stands for no segment");
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        put_u32(&mut bytes, 8, FORMAT_VERSION);
        put_u32(&mut bytes, 12, self.segment.0);
        put_u32(&mut bytes, 16, self.brick.0);
        put_u64(&mut bytes, 24, self.created.0);
        bytes[32..48].copy_from_slice(&self.directory.0);
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        put_u32(&mut bytes, CRC_AT, crc);
        assert_eq!(
            Self::decode(&bytes),
            Ok(*self),
            "a header is read as it was written"
        );
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let bytes: &[u8; SEGMENT_HEADER_BYTES] = bytes.first_chunk().ok_or(HeaderError::Short)?;
        check_head(bytes, &MAGIC)?;
        let mut directory = [0; 16];
        directory.copy_from_slice(&bytes[32..48]);
        Ok(Self {
            segment: SegmentId(u32_at(bytes, 12)),
            brick: BrickId(u32_at(bytes, 16)),
            directory: DirectoryId(directory),
            created: UnixMillis(u64_at(bytes, 24)),
        })
    }
}

/// Checks magic, checksum and format of any 64-byte header of the store, in this order.
pub(crate) fn check_head(
    bytes: &[u8; SEGMENT_HEADER_BYTES],
    magic: &[u8; 8],
) -> Result<(), HeaderError> {
    if bytes[..8] != magic[..] || crc32fast::hash(&bytes[..CRC_AT]) != u32_at(bytes, CRC_AT) {
        return Err(HeaderError::Unreadable);
    }
    match u32_at(bytes, 8) {
        FORMAT_VERSION => Ok(()),
        found => Err(HeaderError::OtherFormat { found }),
    }
}

#[cfg(test)]
#[path = "header_test.rs"]
mod header_test;
