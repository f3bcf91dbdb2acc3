//! After a failed sync: what may be in the page cache alone is written once more.
//!
//! A kernel that could not write a page out marks it clean all the same, and no later sync writes it: it can be
//! read until memory is wanted, and is gone with the machine. Written again it is dirty, and the sync at the end
//! of recovery covers it.
//!
//! In:  what files there are. Out: the same bytes in the same places.
//! Source: Rebello et al., "Can Applications Recover from fsync Failures?" (ATC 2020).

use super::plan::{Plan, Planned, open_segment};
use crate::disk::{Access, Disk, DiskFile};
use crate::error::StoreError;
use crate::file_name;
use crate::segment::footer::FooterState;

/// Bytes read and written at a time.
const STEP_BYTES: usize = 1 << 20;

/// Writes everything again that no sync is known to have covered: segments without a footer, and the newest
/// footer. Whatever is before that was synced, since segments are sealed one after the other.
pub(super) fn rewrite<D: Disk>(disk: &D, plan: &Plan) -> Result<(), StoreError> {
    let is_sealed = |planned: &&Planned| planned.is_sealed;
    if let Some(newest) = plan.segments.iter().rev().find(is_sealed)
        && let FooterState::Sound(footer) = &newest.footer
    {
        rewrite_from(disk, newest, u64::from(footer.records_end))?;
    }
    let mut unsealed = plan.segments.iter().filter(|it| !it.is_sealed);
    unsealed.try_for_each(|planned| rewrite_from(disk, planned, 0))
}

fn rewrite_from<D: Disk>(disk: &D, planned: &Planned, start: u64) -> Result<(), StoreError> {
    let failed = |doing| StoreError::io(doing, disk.describe(&file_name::segment(planned.id)));
    let (file, len) = open_segment(disk, planned.id, Access::ReadWrite)?;
    let mut bytes = vec![0; STEP_BYTES.min((len.saturating_sub(start)) as usize)];
    let mut at = start;
    while at < len {
        let got = file.read_full_at(&mut bytes, at).map_err(failed("read"))?;
        if got == 0 {
            break;
        }
        let written = file.write_all_at(&bytes[..got], at);
        written.map_err(failed("write to"))?;
        at += got as u64;
        assert!(at <= len, "written again up to {at} of {len} bytes");
    }
    Ok(())
}
