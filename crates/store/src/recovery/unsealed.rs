//! Visits a segment without a footer: its tail may be torn.

use super::plan::{Planned, open_segment};
use super::report::RecoveryReport;
use super::visit::{
    Ending, RecoveredRecord, Unsealed, Visitor, header_damage, record_damage, summarize,
};
use crate::config::PageCache;
use crate::damage::{Damage, Part, Tainted, push_damage};
use crate::disk::{Access, Disk, DiskFile};
use crate::error::StoreError;
use crate::file_name;
use crate::segment::footer;
use crate::segment::header::{HeaderError, SEGMENT_HEADER_BYTES};
use crate::segment::range::RangeTable;
use crate::segment::scanner::{Found, Scanner};
use brickyard_types::record::DecodeError;
use brickyard_types::{Position, SegmentId};

impl<D: Disk> Visitor<'_, D> {
    pub(super) fn unsealed(
        &mut self,
        planned: &Planned,
        later: &[Planned],
        report: &mut RecoveryReport,
    ) -> Result<Ending<D::File>, StoreError> {
        let id = planned.id;
        let (file, file_len) = open_segment(self.disk, id, Access::ReadWrite)?;
        let mut is_open = true;
        if let Err(error) = planned.header {
            if error == HeaderError::Short && later.is_empty() {
                return Ok(Ending::Empty);
            }
            let start = Position {
                segment: id,
                offset: 0,
            };
            if !self.was_synced(start, planned, later)? {
                self.cut(&file, start, file_len, later, report)?;
                let name = file_name::segment(id);
                self.disk
                    .remove(&name)
                    .map_err(StoreError::io("remove", self.disk.describe(&name)))?;
                return Ok(Ending::Gone);
            }
            report.damages.push(header_damage(planned));
            is_open = false;
        }

        let start = (SEGMENT_HEADER_BYTES as u64).min(file_len);
        let mut scanner = Scanner::active(&file, start, file_len)
            .tearing_at_sectors(self.page_cache == PageCache::Intact)
            .with_buffer(std::mem::take(&mut self.buffer));
        let mut ranges = RangeTable::default();
        let mut end = file_len;
        let mut cut = None;
        let mut is_damaged = false;
        let mut is_ended = false;
        let mut is_unwritten = false;
        while let Some(found) = scanner
            .next()
            .map_err(|source| self.read_error(id, source))?
        {
            match found {
                Found::Record { offset, record, .. } => {
                    ranges.add(&record.header, record.len);
                    let position = Position {
                        segment: id,
                        offset,
                    };
                    (self.visit)(RecoveredRecord::Record { record, position });
                }
                Found::Synced(position) => self.synced = self.synced.max(position),
                Found::End { records_end } => {
                    end = u64::from(records_end);
                    is_open = false;
                    is_ended = true;
                }
                Found::Footer { offset } => {
                    // A seal was under way, or was damaged since; it will be written again.
                    end = u64::from(offset);
                    is_open = false;
                }
                Found::Unwritten(found) => {
                    end = u64::from(found.offset);
                    is_unwritten = true;
                }
                Found::Damage(found) | Found::Tail(found) => {
                    let at = Position {
                        segment: id,
                        offset: found.offset,
                    };
                    let reaches_end = u64::from(found.offset) + u64::from(found.len) == file_len;
                    let is_short = matches!(found.cause, DecodeError::Short { .. });
                    let is_torn = match self.page_cache {
                        PageCache::Intact => is_short && reaches_end && later.is_empty(),
                        PageCache::MaybeLost => !self.was_synced(at, planned, later)?,
                    };
                    if is_torn {
                        cut = Some(at);
                        break;
                    }
                    is_open = false;
                    is_damaged = true;
                    push_damage(&mut report.damages, record_damage(id, &found));
                }
            }
        }
        self.buffer = scanner.into_buffer();
        summarize(id, &ranges, report);
        if cut.is_none() && !is_ended && !later.is_empty() {
            // The end mark is missing: whatever came before it may be too.
            let at = Position {
                segment: id,
                offset: end as u32,
            };
            if self.was_synced(at, planned, later)? {
                is_damaged = true;
                push_damage(&mut report.damages, lost_end(at));
            } else {
                cut = Some(at);
            }
        }
        if let Some(at) = cut {
            assert!(
                u64::from(at.offset) <= file_len,
                "a cut at {at} of {file_len} bytes"
            );
            self.cut(&file, at, file_len, later, report)?;
            end = u64::from(at.offset);
        } else if end < file_len && !is_unwritten {
            self.footer_damage(id, &file, end, file_len, report)?;
        }
        if end < file_len {
            // Durable before anything is written behind it: what was cut must not come back.
            file.set_len(end)
                .and_then(|()| file.sync_data())
                .map_err(StoreError::io("cut the torn tail of", self.describe(id)))?;
        }
        assert!(
            end <= file_len,
            "segment {id} ends at {end} of {file_len} bytes"
        );
        assert!(
            !(is_open && is_ended),
            "segment {id} has an end mark and takes records"
        );
        assert!(
            !(is_open && is_damaged && later.is_empty()),
            "segment {id} is damaged and takes records"
        );
        Ok(Ending::Unsealed(Unsealed {
            file,
            end: end as u32,
            ranges,
            is_open,
            is_ended,
            is_damaged,
            is_cut: cut.is_some(),
        }))
    }

    /// Reports a footer that is whole and does not verify; one that ends early was being written.
    fn footer_damage(
        &self,
        id: SegmentId,
        file: &D::File,
        start: u64,
        file_len: u64,
        report: &mut RecoveryReport,
    ) -> Result<(), StoreError> {
        assert!(start < file_len, "a footer from {start} to {file_len}");
        let mut bytes = vec![0; (file_len - start) as usize];
        file.read_full_at(&mut bytes, start)
            .map_err(|source| self.read_error(id, source))?;
        if footer::is_whole(&bytes) && self.page_cache == PageCache::Intact {
            report.damages.push(Damage {
                segment: id,
                offset: start as u32,
                len: bytes.len() as u32,
                part: Part::Footer,
                tainted: Tainted::Nothing,
                cause: None,
            });
        }
        Ok(())
    }
}

/// The damage of a segment that lost its end, at a place that leaves whole records.
fn lost_end(at: Position) -> Damage {
    Damage {
        segment: at.segment,
        offset: at.offset,
        len: 0,
        part: Part::Record,
        tainted: Tainted::All,
        cause: None,
    }
}
