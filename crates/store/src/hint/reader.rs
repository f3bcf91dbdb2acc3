//! Checks a hint file and yields its records.

use super::{HINT_ENTRY_BYTES, HINT_MAGIC, HintRecord, entry};
use crate::bytes::{u32_at, u64_at};
use crate::segment::header::{HeaderError, SEGMENT_HEADER_BYTES, check_head};
use brickyard_types::{Position, SegmentId};
use std::fmt;

/// Why a hint file is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HintError {
    /// It ends too early or its header's checksum does not match.
    Header,
    /// It is of another format.
    OtherFormat(u32),
    /// It belongs to another segment, or to another state of this one.
    Other,
    /// Its entries' checksum does not match.
    Checksum,
    /// Its entries do not fit their own lengths.
    Entry,
}

impl fmt::Display for HintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => write!(f, "its header is damaged"),
            Self::OtherFormat(found) => write!(f, "it has format {found}"),
            Self::Other => write!(f, "it belongs to another segment"),
            Self::Checksum => write!(f, "its checksum does not match"),
            Self::Entry => write!(f, "its entries do not fit"),
        }
    }
}

/// A hint file that was checked as a whole.
pub(crate) struct Hints<'a> {
    segment: SegmentId,
    entries: &'a [u8],
    count: u64,
}

impl<'a> Hints<'a> {
    /// Checks all of `bytes`; nothing of a file is believed before all of it was.
    pub(crate) fn check(bytes: &'a [u8]) -> Result<(Self, u32), HintError> {
        let (head, entries) = bytes
            .split_first_chunk::<SEGMENT_HEADER_BYTES>()
            .ok_or(HintError::Header)?;
        check_head(head, &HINT_MAGIC).map_err(|error| match error {
            HeaderError::OtherFormat { found } => HintError::OtherFormat(found),
            HeaderError::Short | HeaderError::Unreadable => HintError::Header,
        })?;
        if entries.len() as u64 != u64_at(head, 32) || crc32fast::hash(entries) != u32_at(head, 20)
        {
            return Err(HintError::Checksum);
        }
        let hints = Self {
            segment: SegmentId(u32_at(head, 12)),
            entries,
            count: u64_at(head, 24),
        };
        Ok((hints, u32_at(head, 16)))
    }

    /// As [`Self::check`], for the segment whose footer says this.
    pub(crate) fn check_for(
        bytes: &'a [u8],
        segment: SegmentId,
        records_end: u32,
        records: u64,
    ) -> Result<Self, HintError> {
        let (hints, end) = Self::check(bytes)?;
        if hints.segment != segment || end != records_end || hints.count != records {
            return Err(HintError::Other);
        }
        // One pass over the lengths, so that the visit below cannot stop half-way.
        let mut rest = hints.entries;
        let mut count = 0;
        let mut last = None;
        while !rest.is_empty() {
            let (offset, _, after) = entry::decode(rest).ok_or(HintError::Entry)?;
            assert!(after.len() < rest.len(), "an entry has bytes");
            // As the writer asserts.
            if last >= Some(offset) || offset >= records_end {
                return Err(HintError::Entry);
            }
            last = Some(offset);
            rest = after;
            count += 1;
        }
        if count == hints.count {
            Ok(hints)
        } else {
            Err(HintError::Entry)
        }
    }

    /// The records, in order of offset.
    pub(crate) fn records(&self) -> impl Iterator<Item = (Position, HintRecord<'a>)> + use<'a> {
        let segment = self.segment;
        let mut rest = self.entries;
        std::iter::from_fn(move || {
            if rest.len() < HINT_ENTRY_BYTES {
                return None;
            }
            let (offset, record, after) = entry::decode(rest)?;
            rest = after;
            Some((Position { segment, offset }, record))
        })
    }
}

/// Reads the bytes of a hint file as far as they verify; for tools and fuzzing.
///
/// # Errors
/// A sentence that says why it is of no use.
pub fn read_hints(
    bytes: &[u8],
    visit: &mut dyn FnMut(Position, HintRecord<'_>),
) -> Result<(), String> {
    let (hints, _) = Hints::check(bytes).map_err(|error| error.to_string())?;
    hints
        .records()
        .for_each(|(position, record)| visit(position, record));
    Ok(())
}
