//! Gives up the damaged ranges of a segment, after saying what that loses.

use super::scan;
use crate::damage::{Damage, Tainted};
use crate::disk::{Disk, read_file, replace_file};
use crate::error::StoreError;
use crate::file_name;
use crate::recovery::Plan;
use crate::segment::footer;
use crate::segment::header::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::segment::mark::{MARK_BYTES, Mark};
use brickyard_types::SegmentId;
use std::fmt;
use std::io;

/// What discarding the damaged ranges of a segment would lose. Nothing is done before
/// [`Self::apply`].
#[derive(Debug)]
pub struct DiscardPlan<D> {
    disk: D,
    header: SegmentHeader,
    /// The ranges that would be given up.
    pub damages: Vec<Damage>,
    /// Unreadable bytes at the end, if the segment is not sealed.
    pub torn_tail: Option<(u32, u64)>,
    /// Records that stay.
    pub records_kept: u64,
    /// Bytes that no record can be read from.
    pub bytes_lost: u64,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// Where the damaged original is now.
    pub original: String,
    /// Records in the repaired segment.
    pub records: u64,
    /// Length of its file.
    pub file_bytes: u64,
}

/// Says what discarding the damaged ranges of `segment` would lose; `None` if nothing is damaged.
///
/// # Errors
/// [`StoreError::NoSegment`], [`StoreError::Io`], [`StoreError::OtherFormat`].
pub fn plan_discard<D: Disk>(
    disk: &D,
    segment: SegmentId,
) -> Result<Option<DiscardPlan<D>>, StoreError> {
    let plan = Plan::read(disk, None)?;
    let planned = plan
        .segments
        .iter()
        .find(|planned| planned.id == segment)
        .ok_or(StoreError::NoSegment { segment })?;
    let (report, _) = scan::segment(disk, planned, &mut |_, _| {})?;
    if report.damages.is_empty() {
        return Ok(None);
    }
    // Every segment of a directory has the same owner, so a damaged header can be had from another.
    let mut headers = plan.segments.iter().filter_map(|other| other.header.ok());
    let header = match planned.header {
        Ok(header) => header,
        Err(_) => headers.next().ok_or_else(|| {
            let name = disk.describe(&file_name::segment(segment));
            StoreError::io("find the owner of", name)(io::Error::other(
                "its header is damaged and there is no other segment",
            ))
        })?,
    };
    let lost = report.damages.iter().filter(|damage| damage.is_loss());
    Ok(Some(DiscardPlan {
        disk: disk.clone(),
        header: SegmentHeader { segment, ..header },
        bytes_lost: lost.map(|damage| u64::from(damage.len)).sum(),
        damages: report.damages,
        torn_tail: report.torn_tail,
        records_kept: report.records,
    }))
}

impl<D: Disk> DiscardPlan<D> {
    /// The segment it is about.
    #[must_use]
    pub fn segment(&self) -> SegmentId {
        self.header.segment
    }

    /// Writes the segment anew with its sound records, sealed, and keeps the original as `.damaged`.
    ///
    /// After a crash half-way the segment is the original or the repaired one, never neither.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the segment is then as it was.
    pub fn apply(self) -> Result<Discarded, StoreError> {
        let disk = &self.disk;
        let segment = self.segment();
        let plan = Plan::read(disk, None)?;
        let planned = plan
            .segments
            .iter()
            .find(|planned| planned.id == segment)
            .ok_or(StoreError::NoSegment { segment })?;
        let mut bytes = self.header.encode().to_vec();
        let (report, _) = scan::segment(disk, planned, &mut |_, raw| {
            bytes.extend_from_slice(raw);
        })?;
        bytes.extend_from_slice(&Mark::End(segment).encode());
        assert!(
            bytes.len() >= SEGMENT_HEADER_BYTES + MARK_BYTES,
            "segment {segment} of {} bytes",
            bytes.len()
        );
        let sealed = footer::encode(segment, bytes.len() as u32, false, &report.ranges);
        bytes.extend_from_slice(&sealed);

        let name = file_name::segment(segment);
        let failed = |doing, name: &str| StoreError::io(doing, disk.describe(name));
        let original = read_file(disk, &name).map_err(failed("read", &name))?;
        let kept = file_name::damaged(segment);
        replace_file(disk, &kept, &original).map_err(failed("keep the original as", &kept))?;
        let hint = file_name::hint(segment);
        match disk.remove(&hint) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &hint)(error));
            }
            _ => {}
        }
        replace_file(disk, &name, &bytes).map_err(failed("write", &name))?;
        Ok(Discarded {
            original: kept,
            records: report.records,
            file_bytes: bytes.len() as u64,
        })
    }
}

impl<D> fmt::Display for DiscardPlan<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "segment {}: {} bytes of records cannot be read, {} records are kept",
            self.header.segment, self.bytes_lost, self.records_kept
        )?;
        for damage in &self.damages {
            writeln!(f, "  {damage}")?;
        }
        if let Some((offset, len)) = self.torn_tail {
            writeln!(f, "  torn tail of {len} bytes at offset {offset}")?;
        }
        let is_loss = self.damages.iter().any(Damage::is_loss);
        let is_unknown = self
            .damages
            .iter()
            .any(|damage| damage.tainted == Tainted::All);
        if is_unknown {
            write!(
                f,
                "keys of any partition may go back to an older value or be missing"
            )
        } else if is_loss {
            write!(
                f,
                "keys of these partitions may go back to an older value or be missing"
            )
        } else {
            write!(f, "no record is lost")
        }
    }
}
