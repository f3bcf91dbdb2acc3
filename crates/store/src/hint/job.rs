//! Writing a sealed segment's hint file, in the background.

use super::HintWriter;
use crate::disk::{Access, Disk, replace_file};
use crate::error::StoreError;
use crate::file_name;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::range::PartitionRange;
use crate::segment::scanner::{Found, Scanner};
use brickyard_types::SegmentId;

/// A hint file that could be written. Worth it if a restart needs no values of any of the segment's
/// partitions, since only then is it read.
#[derive(Debug)]
pub struct HintJob<D> {
    disk: D,
    segment: SegmentId,
    records_end: u32,
    ranges: Vec<PartitionRange>,
}

impl<D: Disk> HintJob<D> {
    pub(crate) fn new(
        disk: D,
        segment: SegmentId,
        records_end: u32,
        ranges: Vec<PartitionRange>,
    ) -> Self {
        assert!(segment.0 > 0, "0 stands for no segment");
        assert!(
            records_end as usize >= SEGMENT_HEADER_BYTES,
            "segment {segment} ends at {records_end}, within its header"
        );
        Self {
            disk,
            segment,
            records_end,
            ranges,
        }
    }

    /// The segment it is about.
    #[must_use]
    pub fn segment(&self) -> SegmentId {
        self.segment
    }

    /// The segment's partitions, to decide whether the file is worth writing.
    #[must_use]
    pub fn ranges(&self) -> &[PartitionRange] {
        &self.ranges
    }

    /// Reads the segment, which is sealed and so synced (rule `reads check what they got`), and writes its hint file.
    ///
    /// Returns whether it did: a damaged segment gets none, so that the next start scans it and
    /// finds the damage.
    ///
    /// # Errors
    /// [`StoreError::Io`]: there is no hint file; only the next start is slower.
    pub fn run(self) -> Result<bool, StoreError> {
        let segment = self.segment;
        let name = file_name::segment(segment);
        let failed = |doing, source| StoreError::io(doing, self.disk.describe(&name))(source);
        let file = self
            .disk
            .open(&name, Access::Read)
            .map_err(|source| failed("open", source))?;
        let mut scanner = Scanner::sealed(
            &file,
            SEGMENT_HEADER_BYTES as u64,
            u64::from(self.records_end),
            None,
        );
        let mut writer = HintWriter::new();
        while let Some(found) = scanner.next().map_err(|source| failed("read", source))? {
            match found {
                Found::Record { offset, record, .. } => writer.add(offset, &record),
                Found::Damage(_) | Found::Tail(_) | Found::Unwritten(_) => return Ok(false),
                Found::Synced(_) | Found::End { .. } | Found::Footer { .. } => {}
            }
        }
        let bytes = writer.finish(segment, self.records_end);
        let name = file_name::hint(segment);
        replace_file(&self.disk, &name, &bytes)
            .map_err(StoreError::io("write", self.disk.describe(&name)))?;
        Ok(true)
    }
}
