//! Opens a brick's log: finds what is in it, cuts what a crash tore, and hands out the three ends.
//!
//! In:  a directory. Out: every record in the order in which it was written, through `visit`; then
//! [`Appender`], [`Syncer`], [`Reader`] and a [`RecoveryReport`].
//!
//! Invariants:
//! - What is visited verified. What did not verify and is no torn tail is a [`Damage`] in the report.
//! - Nothing is changed before every segment's format and owner were checked.
//! - When `open` returns, everything visited is durable and nothing that was cut can come back.
//!
//! # Torn tail or damage
//!
//! A sealed segment was synced before it was sealed, so whatever is unreadable in it is damage. In the
//! segments after the last sealed one it depends on what can have happened:
//!
//! - *Page cache intact* (the process died, the machine did not): bytes were written in order, so
//!   only a record that the last file ends in the middle of is torn. The rest is damage.
//! - *Page cache maybe lost* (power cut, reboot): any page that was not synced may be missing, also
//!   before others that are there. The newest mark says how far the log had been synced. What is
//!   unreadable before that is damage. The first unreadable byte behind it is where the log was
//!   torn, and everything from there on is cut, readable or not: no write of it was acknowledged as
//!   synced, and keeping later writes without earlier ones would be a state that never was. What was
//!   readable is kept aside in a `.cut` file.
//!
//! Not here: what the records mean (`brick`), repairing on request (`inspect`).
//! Source: Protocol-Aware Recovery (Alagappan et al., FAST 2018), sections 3.3 and 4.

mod plan;
mod report;
mod rewrite;
mod sealed;
mod tear;
mod unsealed;
mod visit;

pub use report::{Cut, RecoveryReport, SegmentSummary};
pub use visit::RecoveredRecord;

use crate::append::{Active, Appender, Full, create_segment};
use crate::config::{LogConfig, PageCache};
use crate::disk::{Access, Disk, DiskFile};
use crate::error::StoreError;
use crate::file_name;
use crate::hint::HintJob;
use crate::read::Reader;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::mark::Mark;
use crate::shared::Shared;
use crate::sync::Syncer;
use brickyard_types::{PartitionId, Position, SegmentId};
pub(crate) use plan::{Plan, Planned, open_segment};
use std::io;
use std::sync::Arc;
pub(crate) use visit::{Counts, header_damage, record_damage, taint};
use visit::{Ending, Unsealed, Visitor};

/// A log that is open.
pub struct Opened<D: Disk> {
    /// For the append thread.
    pub appender: Appender<D>,
    /// For the sync thread.
    pub syncer: Syncer<D>,
    /// For the read thread.
    pub reader: Reader<D>,
    /// What was found.
    pub report: RecoveryReport,
}

/// Opens the log in `disk`, which must be this process's alone (the data directory's lock).
///
/// Calls `visit` with every record in log order: ascending by position, each once. A segment none
/// of whose partitions needs values (`needs_values`) is read from its hint file if there is a sound one.
///
/// - Time: reads every segment that is not read from a hint file once; three syncs.
///
/// # Errors
/// [`StoreError`]: a file could not be read or written, or is of another format or of another log.
/// Damaged records are no error; they are in the report.
pub fn open<D: Disk>(
    disk: D,
    config: LogConfig,
    needs_values: &dyn Fn(PartitionId) -> bool,
    visit: &mut dyn FnMut(RecoveredRecord<'_>),
) -> Result<Opened<D>, StoreError> {
    let plan = Plan::read(&disk, Some(&config))?;
    let mut config = config;
    let page_cache = if plan.is_unsure {
        PageCache::MaybeLost
    } else {
        config.page_cache
    };
    config.page_cache = page_cache;
    let mut report = RecoveryReport::default();
    clear_leftovers(&disk, &plan, &mut report)?;
    if plan.is_unsure {
        rewrite::rewrite(&disk, &plan)?;
    }

    let mut visitor = Visitor::new(&disk, page_cache, needs_values, visit);
    let mut full: Vec<Full<D::File>> = Vec::new();
    let mut active: Option<Active<D::File>> = None;
    let mut hints: Vec<HintJob<D>> = Vec::new();
    for (index, planned) in plan.segments.iter().enumerate() {
        assert!(
            active.is_none(),
            "segment {} comes after the one that takes records",
            planned.id
        );
        let later = &plan.segments[index + 1..];
        match visitor.segment(planned, later, &mut report)? {
            Ending::Sealed { without_hint } => {
                if let Some((records_end, ranges)) = without_hint {
                    hints.push(HintJob::new(disk.clone(), planned.id, records_end, ranges));
                }
            }
            Ending::Unsealed(unsealed) => {
                let is_cut = unsealed.is_cut;
                // A segment with damage takes no more records: the next scan would have to find its
                // way past the damage to them.
                let is_last = later.is_empty() || is_cut;
                if is_last && unsealed.is_open {
                    active = Some(Active {
                        id: planned.id,
                        file: Arc::new(unsealed.file),
                        len: unsealed.end,
                        ranges: unsealed.ranges,
                        is_ended: false,
                    });
                } else {
                    report.resealed.push(planned.id);
                    full.push(end_segment(&disk, planned.id, unsealed)?);
                }
                if is_cut {
                    break;
                }
            }
            Ending::Empty => remove(&disk, &file_name::segment(planned.id), &mut report)?,
            Ending::Gone => break,
        }
    }

    // A process that died between writing the newest footer and syncing it left one that is sound only
    // in the page cache. Those before it were synced: seals are made one after the other.
    if let Some(newest) = plan.segments.iter().rev().find(|planned| planned.is_sealed) {
        let (file, _) = open_segment(&disk, newest.id, Access::ReadWrite)?;
        file.sync_data().map_err(StoreError::io(
            "sync",
            disk.describe(&file_name::segment(newest.id)),
        ))?;
    }

    let active = match active {
        Some(active) => active,
        None => {
            let last = plan.segments.last().map_or(0, |planned| planned.id.0);
            // After a cut the ids behind it are free again, but a new one costs nothing.
            let id = SegmentId(last + 1);
            create_segment(&disk, &config, id).map_err(StoreError::io(
                "create",
                disk.describe(&file_name::segment(id)),
            ))?
        }
    };
    let end = Position {
        segment: active.id,
        offset: active.len,
    };
    assert!(
        end.offset as usize >= SEGMENT_HEADER_BYTES,
        "the log ends at {end}, within a header"
    );
    report.end = end;
    report.finish();

    let shared = Arc::new(Shared::default());
    let mut syncer = Syncer::new(
        disk.clone(),
        Arc::clone(&shared),
        (active.id, Arc::clone(&active.file)),
    );
    full.into_iter().for_each(|full| syncer.add_full(full));
    syncer.sync(end).map_err(|poisoned| StoreError::Io {
        doing: poisoned.doing,
        file: poisoned.file,
        source: io::Error::other(poisoned.cause),
    })?;
    hints.into_iter().for_each(|job| syncer.add_hint(job));
    if plan.is_unsure {
        // Everything that was visited was written again and is synced now, so the page cache is a witness again.
        remove(&disk, file_name::UNSURE, &mut report)?;
    }
    let reader = Reader::new(disk.clone(), &config);
    let appender = Appender::new(disk, config, active, shared);
    Ok(Opened {
        appender,
        syncer,
        reader,
        report,
    })
}

/// Makes sure that a segment has its end mark, so that it can be sealed.
fn end_segment<D: Disk>(
    disk: &D,
    id: SegmentId,
    unsealed: Unsealed<D::File>,
) -> Result<Full<D::File>, StoreError> {
    let mut records_end = unsealed.end;
    assert!(
        records_end as usize >= SEGMENT_HEADER_BYTES || unsealed.ranges.is_empty(),
        "segment {id} ends at {records_end} and has records"
    );
    if !unsealed.is_ended {
        let mark = Mark::End(id).encode();
        unsealed
            .file
            .write_all_at(&mark, u64::from(records_end))
            .map_err(StoreError::io(
                "write to",
                disk.describe(&file_name::segment(id)),
            ))?;
        records_end += mark.len() as u32;
    }
    Ok(Full {
        id,
        file: Arc::new(unsealed.file),
        records_end,
        ranges: unsealed.ranges.sorted(),
        is_damaged: unsealed.is_damaged,
    })
}

/// Removes half-written files, and hint files whose segment is gone.
fn clear_leftovers<D: Disk>(
    disk: &D,
    plan: &Plan,
    report: &mut RecoveryReport,
) -> Result<(), StoreError> {
    plan.leftovers
        .iter()
        .try_for_each(|name| remove(disk, name, report))
}

fn remove<D: Disk>(disk: &D, name: &str, report: &mut RecoveryReport) -> Result<(), StoreError> {
    disk.remove(name)
        .map_err(StoreError::io("remove", disk.describe(name)))?;
    report.removed.push(name.to_owned());
    Ok(())
}

#[cfg(test)]
#[path = "recovery_test.rs"]
mod recovery_test;

#[cfg(test)]
#[path = "crash_test.rs"]
mod crash_test;

#[cfg(test)]
#[path = "flip_test.rs"]
mod flip_test;
