//! What an inspection found.

use crate::damage::Damage;
use crate::segment::header::DirectoryId;
use crate::segment::range::PartitionRange;
use brickyard_types::{BrickId, SegmentId, UnixMillis};
use std::fmt;

/// One segment, verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// Which.
    pub segment: SegmentId,
    /// Length of the file.
    pub file_bytes: u64,
    /// Directory, brick and time of creation; `None` if the header is damaged.
    pub header: Option<(DirectoryId, BrickId, UnixMillis)>,
    /// Whether it has a footer.
    pub is_sealed: bool,
    /// Sound records.
    pub records: u64,
    /// Their bytes.
    pub record_bytes: u64,
    /// How many of them are deletes and clears.
    pub tombstones: u64,
    /// Their partitions.
    pub ranges: Vec<PartitionRange>,
    /// What is damaged.
    pub damages: Vec<Damage>,
    /// Offset and length of unreadable bytes at the end that nothing readable follows; only in a
    /// segment that is not sealed.
    pub torn_tail: Option<(u32, u64)>,
    /// The hint file.
    pub hint: HintState,
}

/// What is to be said of a hint file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintState {
    /// There is none.
    Missing,
    /// It says what the segment says.
    Sound,
    /// It does not, for this reason; a start would pass over it or must not believe it.
    Wrong(String),
}

/// A whole directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectSummary {
    /// How many segments.
    pub segments: u64,
    /// Bytes of their files.
    pub file_bytes: u64,
    /// Sound records.
    pub records: u64,
    /// Stretches that are damaged.
    pub damages: u64,
    /// Hint files that are wrong.
    pub hints_wrong: u64,
    /// Half-written files; the next start removes them.
    pub leftovers: Vec<String>,
    /// A sync failed before the last stop.
    pub is_unsure: bool,
}

impl InspectSummary {
    pub(super) fn add(&mut self, report: &SegmentReport) {
        self.segments += 1;
        self.file_bytes += report.file_bytes;
        self.records += report.records;
        self.damages += report.damages.len() as u64;
        self.hints_wrong += u64::from(matches!(report.hint, HintState::Wrong(_)));
    }

    /// Whether everything verified. A torn tail is no damage.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damages == 0 && self.hints_wrong == 0
    }
}

impl fmt::Display for HintState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "none"),
            Self::Sound => write!(f, "sound"),
            Self::Wrong(reason) => write!(f, "wrong: {reason}"),
        }
    }
}
