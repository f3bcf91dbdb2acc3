//! What opening a log found.

use crate::damage::Damage;
use crate::segment::range::PartitionRange;
use brickyard_types::{Position, SegmentId};
use std::fmt;

/// What opening a log found and did.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// The segments, ascending; the active one last.
    pub segments: Vec<SegmentSummary>,
    /// Records visited.
    pub records: u64,
    /// How many of them came from hint files.
    pub records_from_hints: u64,
    /// What could not be believed.
    pub damages: Vec<Damage>,
    /// Where the log was cut, if a crash tore it.
    pub torn: Option<Cut>,
    /// Files that held what was behind the cut, now under these names.
    pub set_aside: Vec<String>,
    /// Segments that had been full but not sealed.
    pub resealed: Vec<SegmentId>,
    /// Hint files that were of no use.
    pub hints_damaged: Vec<SegmentId>,
    /// Leftover files that were removed.
    pub removed: Vec<String>,
    /// Where the next batch goes.
    pub end: Position,
}

/// One segment of an open log.
#[derive(Clone, Debug)]
pub struct SegmentSummary {
    /// Which.
    pub segment: SegmentId,
    /// Bytes of its records.
    pub record_bytes: u64,
    /// How many records.
    pub records: u64,
    /// Its partitions.
    pub ranges: Vec<PartitionRange>,
    /// Whether it has damage; such a segment must not be cleaned away.
    pub is_damaged: bool,
}

/// A torn tail that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where the log ends now.
    pub at: Position,
    /// Bytes cut from that segment.
    pub len: u64,
    /// Sound records among what was cut, later segments included: written after the last sync and
    /// behind a hole.
    pub records: u64,
}

impl RecoveryReport {
    pub(crate) fn finish(&mut self) {
        for summary in &mut self.segments {
            summary.is_damaged = self
                .damages
                .iter()
                .any(|damage| damage.segment == summary.segment && damage.is_loss());
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: a torn tail of {} bytes was cut off",
            self.at, self.len
        )?;
        if self.records > 0 {
            write!(
                f,
                ", with {} records that were written after the last sync and are kept in .cut files",
                self.records
            )?;
        }
        Ok(())
    }
}
