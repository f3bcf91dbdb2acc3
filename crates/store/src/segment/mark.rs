//! Marks: the log's own notes between the records.
//!
//! *Synced*: how far the log was synced. After a power cut the pages that were never synced may be
//! missing from the middle of the last segment while later ones are there. A record that follows a
//! hole then does not prove that the hole is rot: both may belong to the last, unsynced second. What
//! proves it is a mark *after* the hole that says "synced past this" (the idea of persist records in
//! Protocol-Aware Recovery, FAST 2018). So the appender writes one before the first batch after each
//! sync.
//!
//! *End*: nothing but a footer follows in this segment. A segment that has a successor and no end mark
//! lost its tail in a power cut, also if the part that is left ends with a whole record; and unreadable
//! bytes behind an end mark are a footer whose writing was interrupted.
//!
//! A mark has a record header's shape, 48 bytes, so that a reader can step over it:
//! ```text
//!  0  u32 CRC-32 of bytes 4..48     12  u8  kind: 128 synced, 129 end
//!  4  u32 0                         20  u32 synced: segment of the position; end: this segment
//!  8  u32 0 (no body)               24  u32 synced: its offset               all other bytes 0
//! ```
//! Kinds from 128 are the store's own; the brick's records never have them.

use crate::bytes::{put_u32, u32_at};
use brickyard_types::record::HEADER_BYTES;
use brickyard_types::{Position, SegmentId};

/// Bytes of a mark.
pub(crate) const MARK_BYTES: usize = HEADER_BYTES;

/// The lowest kind byte of a mark.
pub(crate) const MARK_KIND_MIN: u8 = SYNCED_KIND;

const SYNCED_KIND: u8 = 128;
const END_KIND: u8 = 129;

/// A note between the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Everything before this position was synced when the mark was written.
    Synced(Position),
    /// The records of this segment end here.
    End(SegmentId),
}

impl Mark {
    pub(crate) fn encode(self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        match self {
            Self::Synced(position) => {
                bytes[12] = SYNCED_KIND;
                put_u32(&mut bytes, 20, position.segment.0);
                put_u32(&mut bytes, 24, position.offset);
            }
            Self::End(segment) => {
                bytes[12] = END_KIND;
                put_u32(&mut bytes, 20, segment.0);
            }
        }
        let crc = crc32fast::hash(&bytes[4..]);
        put_u32(&mut bytes, 0, crc);
        bytes
    }

    /// The sound mark at the start of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..MARK_BYTES)?;
        let segment = SegmentId(u32_at(bytes, 20));
        let mark = match bytes[12] {
            SYNCED_KIND => Self::Synced(Position {
                segment,
                offset: u32_at(bytes, 24),
            }),
            END_KIND => Self::End(segment),
            _ => return None,
        };
        // Comparing with what would be written also covers the bytes that must be 0.
        (bytes == mark.encode()).then_some(mark)
    }
}
