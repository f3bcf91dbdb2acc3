//! Visits a sealed segment: from its hint file where that is enough, else by a scan. Whatever is
//! unreadable here is damage.

use super::plan::{Planned, open_segment};
use super::report::{RecoveryReport, SegmentSummary};
use super::visit::{
    Counts, Ending, RecoveredRecord, Visitor, header_damage, record_damage, summarize, taint,
};
use crate::damage::{Damage, Part, Tainted, push_damage};
use crate::disk::{Access, Disk, read_file};
use crate::error::StoreError;
use crate::file_name;
use crate::hint::Hints;
use crate::segment::footer::Footer;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::scanner::{Found, Scanner};
use brickyard_types::{Position, SegmentId};

impl<D: Disk> Visitor<'_, D> {
    pub(super) fn sealed(
        &mut self,
        planned: &Planned,
        report: &mut RecoveryReport,
    ) -> Result<Ending<D::File>, StoreError> {
        let id = planned.id;
        if planned.header.is_err() {
            report.damages.push(header_damage(planned));
        }
        let footer = planned.footer.sound();
        let wants_hint = footer.is_some_and(|footer| {
            let mut valued = footer.ranges.iter().filter(|range| range.has_values);
            !footer.ranges.is_empty() && !valued.any(|range| (self.needs_values)(range.partition))
        });
        if let Some(footer) = footer.filter(|_| wants_hint && planned.has_hint) {
            if self.hints(id, footer, report)? {
                return Ok(Ending::Sealed { without_hint: None });
            }
            report.hints_damaged.push(id);
        }

        let file_len = planned.file_len;
        let (file, _) = open_segment(self.disk, id, Access::Read)?;
        let start = SEGMENT_HEADER_BYTES as u64;
        let mut scanner = Scanner::of(&file, start, file_len, &planned.footer)
            .with_buffer(std::mem::take(&mut self.buffer));
        let mut counts = Counts::default();
        let mut unreadable = Vec::new();
        let mut footer_at = planned.footer.records_end().unwrap_or(file_len);
        while let Some(found) = scanner
            .next()
            .map_err(|source| self.read_error(id, source))?
        {
            match found {
                Found::Record { offset, record, .. } => {
                    counts.sound.add(&record.header, record.len);
                    let position = Position {
                        segment: id,
                        offset,
                    };
                    (self.visit)(RecoveredRecord::Record { record, position });
                }
                Found::Synced(position) => self.synced = self.synced.max(position),
                Found::End { records_end } => footer_at = u64::from(records_end),
                Found::Damage(found) | Found::Tail(found) | Found::Unwritten(found) => {
                    counts
                        .known
                        .extend(found.known.map(|(partition, _)| partition));
                    unreadable.push(found);
                }
                Found::Footer { offset } => footer_at = u64::from(offset),
            }
        }
        self.buffer = scanner.into_buffer();
        for found in &unreadable {
            push_damage(
                &mut report.damages,
                Damage {
                    tainted: taint(found, footer, &counts),
                    ..record_damage(id, found)
                },
            );
        }
        if footer.is_none() {
            report.damages.push(Damage {
                segment: id,
                offset: footer_at as u32,
                len: planned.file_len.saturating_sub(footer_at) as u32,
                part: Part::Footer,
                tainted: Tainted::Nothing,
                cause: None,
            });
        }
        summarize(id, &counts.sound, report);
        let is_worth_a_hint = wants_hint && unreadable.is_empty();
        Ok(Ending::Sealed {
            without_hint: footer
                .filter(|_| is_worth_a_hint)
                .map(|footer| (footer.records_end, footer.ranges.clone())),
        })
    }

    /// Visits a segment's hint file; `false` if it is of no use, and then nothing was visited.
    fn hints(
        &mut self,
        id: SegmentId,
        footer: &Footer,
        report: &mut RecoveryReport,
    ) -> Result<bool, StoreError> {
        let name = file_name::hint(id);
        let bytes = read_file(self.disk, &name)
            .map_err(StoreError::io("read", self.disk.describe(&name)))?;
        let Ok(hints) = Hints::check_for(&bytes, id, footer.records_end, footer.records) else {
            return Ok(false);
        };
        for (position, record) in hints.records() {
            (self.visit)(match record.control() {
                Some(record) => RecoveredRecord::Record { record, position },
                None => RecoveredRecord::Hint { record, position },
            });
        }
        report.records_from_hints += footer.records;
        report.records += footer.records;
        report.segments.push(SegmentSummary {
            segment: id,
            record_bytes: footer.ranges.iter().map(|range| range.bytes).sum(),
            records: footer.records,
            ranges: footer.ranges.clone(),
            is_damaged: false,
        });
        Ok(true)
    }
}
