//! Looks at a brick's log while no server has it: lists, verifies, and repairs when asked to.
//!
//! In:  a brick's directory, whose data directory lock the caller holds. Out: a [`SegmentReport`] a
//! segment; on request a cut tail or a repaired copy.
//!
//! Invariants:
//! - [`inspect`] and [`plan_discard`] change nothing.
//! - Every byte of every segment and hint file is verified: records and marks, footers against
//!   records, hints against records.
//! - A repair never loses what is readable, and keeps the damaged original beside it.
//!
//! Not here: the pages of text that a person sees (`cli`).

mod discard;
mod report;
mod scan;

pub use discard::{DiscardPlan, Discarded, plan_discard};
pub use report::{HintState, InspectSummary, SegmentReport};

use crate::disk::{Access, Disk, DiskFile};
use crate::error::StoreError;
use crate::file_name;
use crate::recovery::{Cut, Plan, open_segment};
use brickyard_types::Position;

/// Verifies a brick's directory and reports each segment, oldest first.
///
/// - Time: reads every file once.
///
/// # Errors
/// [`StoreError::OtherFormat`] for files of another format; [`StoreError::Io`].
pub fn inspect<D: Disk>(
    disk: &D,
    visit: &mut dyn FnMut(SegmentReport),
) -> Result<InspectSummary, StoreError> {
    let plan = Plan::read(disk, None)?;
    let mut summary = InspectSummary {
        leftovers: plan.leftovers.clone(),
        is_unsure: plan.is_unsure,
        ..InspectSummary::default()
    };
    for planned in &plan.segments {
        let (report, _) = scan::segment(disk, planned, &mut |_, _| {})?;
        summary.add(&report);
        visit(report);
    }
    Ok(summary)
}

/// Cuts the unreadable tail off the last segment, if it has one and is not sealed.
///
/// A server does this by itself where a crash explains the tail; this is for when it does not.
///
/// # Errors
/// [`StoreError`]; the segment is then as it was.
pub fn repair_torn_tail<D: Disk>(disk: &D) -> Result<Option<Cut>, StoreError> {
    let plan = Plan::read(disk, None)?;
    let Some(last) = plan.segments.last() else {
        return Ok(None);
    };
    let (report, _) = scan::segment(disk, last, &mut |_, _| {})?;
    let Some((offset, len)) = report.torn_tail else {
        return Ok(None);
    };
    let (file, _) = open_segment(disk, last.id, Access::ReadWrite)?;
    file.set_len(u64::from(offset))
        .and_then(|()| file.sync_data())
        .map_err(StoreError::io(
            "cut the torn tail of",
            disk.describe(&file_name::segment(last.id)),
        ))?;
    Ok(Some(Cut {
        at: Position {
            segment: last.id,
            offset,
        },
        len,
        records: 0,
    }))
}

#[cfg(test)]
#[path = "inspect_test.rs"]
mod inspect_test;
