//! Goes through one segment after the other and decides what unreadable bytes mean.

use super::plan::Planned;
use super::report::{Cut, RecoveryReport, SegmentSummary};
use super::{Recovered, open_segment, push_damage};
use crate::config::PageCache;
use crate::damage::{Damage, Part, Tainted};
use crate::disk::{Access, Disk, DiskFile, read_file, replace_file};
use crate::error::Error;
use crate::file_name;
use crate::hint::{HintError, Hints};
use crate::segment::footer::{self, Footer, FooterState};
use crate::segment::header::{HeaderError, SEGMENT_HEADER_BYTES};
use crate::segment::range::{PartitionRange, RangeTable};
use crate::segment::scanner::{Found, Scanner, Unreadable};
use brickyard_types::record::DecodeError;
use brickyard_types::{PartitionId, Position, SegmentId};
use std::io;

/// How a segment ended.
pub(crate) enum Ending<F> {
    /// It takes no more records. `without_hint`: where its records end, and its ranges, if a hint
    /// file would have helped and there is none.
    Sealed {
        without_hint: Option<(u32, Vec<PartitionRange>)>,
    },
    /// It has no footer.
    Unsealed(Unsealed<F>),
    /// It was being created; nothing is in it.
    Empty,
    /// The log was torn in its header; it was removed and the log ends before it.
    Gone,
}

/// A segment without a footer.
pub(crate) struct Unsealed<F> {
    pub(crate) file: F,
    /// Where its records end.
    pub(crate) end: u32,
    pub(crate) ranges: RangeTable,
    /// Records may be appended: it has no damage of any kind and no seal was under way.
    pub(crate) is_open: bool,
    /// It has its end mark.
    pub(crate) is_ended: bool,
    /// Records in it are unreadable.
    pub(crate) is_damaged: bool,
    /// The log was torn in it and ends with it now.
    pub(crate) is_cut: bool,
}

/// What was found of a segment, to compare with its footer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Sound records by partition.
    pub(crate) sound: RangeTable,
    /// Unreadable records whose header is sound.
    pub(crate) known: Vec<PartitionId>,
}

/// Whom a stretch with unreadable headers taints: the partitions of which the footer counts more
/// records than were found.
pub(crate) fn taint(unreadable: &Unreadable, footer: Option<&Footer>, counts: &Counts) -> Tainted {
    if let Some((partition, op)) = unreadable.known {
        return Tainted::Op(partition, op);
    }
    let Some(footer) = footer.filter(|footer| !footer.was_damaged) else {
        return Tainted::All;
    };
    let missing = footer.ranges.iter().filter(|range| {
        let known = counts
            .known
            .iter()
            .filter(|known| **known == range.partition);
        counts.sound.records_of(range.partition) + (known.count() as u64) < range.records
    });
    let missing: Vec<_> = missing.map(|range| range.partition).collect();
    if missing.is_empty() {
        // Nobody's record is missing: it was a mark.
        return Tainted::Nothing;
    }
    Tainted::Partitions(missing)
}

pub(crate) struct Visitor<'v, D: Disk> {
    disk: &'v D,
    page_cache: PageCache,
    needs_values: &'v dyn Fn(PartitionId) -> bool,
    visit: &'v mut dyn FnMut(Recovered<'_>),
    buffer: Vec<u8>,
    /// The newest mark seen.
    synced: Position,
    /// Whether marks after the current place were taken into `synced`.
    has_looked_ahead: bool,
}

impl<'v, D: Disk> Visitor<'v, D> {
    pub(crate) fn new(
        disk: &'v D,
        page_cache: PageCache,
        needs_values: &'v dyn Fn(PartitionId) -> bool,
        visit: &'v mut dyn FnMut(Recovered<'_>),
    ) -> Self {
        Self {
            disk,
            page_cache,
            needs_values,
            visit,
            buffer: Vec::new(),
            synced: Position::NONE,
            has_looked_ahead: false,
        }
    }

    pub(crate) fn segment(
        &mut self,
        planned: &Planned,
        later: &[Planned],
        report: &mut RecoveryReport,
    ) -> Result<Ending<D::File>, Error> {
        if planned.is_sealed {
            self.sealed(planned, report)
        } else {
            self.unsealed(planned, later, report)
        }
    }

    fn sealed(
        &mut self,
        planned: &Planned,
        report: &mut RecoveryReport,
    ) -> Result<Ending<D::File>, Error> {
        let id = planned.id;
        if planned.header.is_err() {
            report.damages.push(header_damage(planned));
        }
        let footer = match &planned.footer {
            FooterState::Sound(footer) => Some(footer),
            FooterState::Damaged { .. } | FooterState::Absent => None,
        };
        let wants_hint = footer.is_some_and(|footer| {
            let mut ranges = footer.ranges.iter();
            !footer.ranges.is_empty() && !ranges.any(|range| (self.needs_values)(range.partition))
        });
        if let Some(footer) = footer.filter(|_| wants_hint && planned.has_hint) {
            if self.hints(id, footer, report)? {
                return Ok(Ending::Sealed { without_hint: None });
            }
            report.hints_damaged.push(id);
        }

        let records_end = match &planned.footer {
            FooterState::Sound(footer) => u64::from(footer.records_end),
            FooterState::Damaged { records_end } => u64::from(*records_end),
            FooterState::Absent => planned.file_len,
        };
        let (file, _) = open_segment(self.disk, id, Access::Read)?;
        let start = SEGMENT_HEADER_BYTES as u64;
        let mut scanner = match &planned.footer {
            FooterState::Absent => Scanner::active(&file, start, records_end),
            _ => Scanner::sealed(
                &file,
                start,
                records_end,
                footer.map(|footer| footer.ranges.iter().map(|range| range.partition).collect()),
            ),
        }
        .with_buffer(std::mem::take(&mut self.buffer));
        let mut counts = Counts::default();
        let mut unreadable = Vec::new();
        let mut footer_at = records_end;
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
                    (self.visit)(Recovered::Record { record, position });
                }
                Found::Synced(position) => self.synced = self.synced.max(position),
                Found::End { records_end } => footer_at = u64::from(records_end),
                Found::Damage(found) | Found::Tail(found) => {
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
    ) -> Result<bool, Error> {
        let name = file_name::hint(id);
        let bytes =
            read_file(self.disk, &name).map_err(Error::io("read", self.disk.describe(&name)))?;
        let hints = match Hints::check_for(&bytes, id, footer.records_end, footer.records) {
            Ok(hints) => hints,
            Err(
                HintError::Header
                | HintError::Newer(_)
                | HintError::Other
                | HintError::Checksum
                | HintError::Entry,
            ) => return Ok(false),
        };
        for (position, record) in hints.records() {
            (self.visit)(Recovered::Hint { record, position });
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

    fn unsealed(
        &mut self,
        planned: &Planned,
        later: &[Planned],
        report: &mut RecoveryReport,
    ) -> Result<Ending<D::File>, Error> {
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
                    .map_err(Error::io("remove", self.disk.describe(&name)))?;
                return Ok(Ending::Gone);
            }
            report.damages.push(header_damage(planned));
            is_open = false;
        }

        let start = (SEGMENT_HEADER_BYTES as u64).min(file_len);
        let mut scanner =
            Scanner::active(&file, start, file_len).with_buffer(std::mem::take(&mut self.buffer));
        let mut ranges = RangeTable::default();
        let mut end = file_len;
        let mut cut = None;
        let mut is_damaged = false;
        let mut is_ended = false;
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
                    (self.visit)(Recovered::Record { record, position });
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
            self.cut(&file, at, file_len, later, report)?;
            end = u64::from(at.offset);
        } else if end < file_len {
            self.footer_damage(id, &file, end, file_len, report)?;
        }
        if end < file_len {
            // Durable before anything is written behind it: what was cut must not come back.
            file.set_len(end)
                .and_then(|()| file.sync_data())
                .map_err(Error::io("cut the torn tail of", self.describe(id)))?;
        }
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
    ) -> Result<(), Error> {
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

    /// Whether the log is known to have been synced past `at`, so that what is unreadable there is
    /// not the work of a crash.
    fn was_synced(
        &mut self,
        at: Position,
        planned: &Planned,
        later: &[Planned],
    ) -> Result<bool, Error> {
        if self.page_cache == PageCache::Intact {
            return Ok(true);
        }
        if !self.has_looked_ahead && self.synced <= at {
            for planned in std::iter::once(planned).chain(later) {
                self.look_ahead(planned)?;
            }
            self.has_looked_ahead = true;
        }
        Ok(self.synced > at)
    }

    fn look_ahead(&mut self, planned: &Planned) -> Result<(), Error> {
        let (file, file_len) = open_segment(self.disk, planned.id, Access::Read)?;
        let start = (SEGMENT_HEADER_BYTES as u64).min(file_len);
        let mut scanner = Scanner::active(&file, start, file_len);
        while let Some(found) = scanner
            .next()
            .map_err(|source| self.read_error(planned.id, source))?
        {
            if let Found::Synced(position) = found {
                self.synced = self.synced.max(position);
            }
        }
        Ok(())
    }

    /// Notes the cut in the report, keeps what is readable of it aside, and puts the later segments
    /// out of the way. The caller then cuts the segment itself: last, because the hole in it is what
    /// tells the next start, should this one be interrupted, that the rest must not be read.
    fn cut(
        &self,
        file: &D::File,
        at: Position,
        file_len: u64,
        later: &[Planned],
        report: &mut RecoveryReport,
    ) -> Result<(), Error> {
        let start = u64::from(at.offset);
        let mut records = self.count_records(at.segment, file, start, file_len)?;
        if records > 0 {
            let mut bytes = vec![0; (file_len - start) as usize];
            let name = file_name::cut(at.segment);
            file.read_full_at(&mut bytes, start)
                .and_then(|_| replace_file(self.disk, &name, &bytes))
                .map_err(Error::io("keep the cut tail in", self.disk.describe(&name)))?;
            report.set_aside.push(name);
        }
        for planned in later.iter().rev() {
            let (file, file_len) = open_segment(self.disk, planned.id, Access::Read)?;
            records += self.count_records(planned.id, &file, 0, file_len)?;
            let from = file_name::segment(planned.id);
            let to = file_name::cut(planned.id);
            self.disk
                .rename(&from, &to)
                .map_err(Error::io("rename", self.disk.describe(&from)))?;
            report.set_aside.push(to);
        }
        if !later.is_empty() {
            self.disk
                .sync_dir()
                .map_err(Error::io("sync", self.disk.describe("")))?;
        }
        report.torn = Some(Cut {
            at,
            len: file_len - start,
            records,
        });
        Ok(())
    }

    fn count_records(
        &self,
        id: SegmentId,
        file: &D::File,
        start: u64,
        end: u64,
    ) -> Result<u64, Error> {
        let mut records = 0;
        let mut scanner = Scanner::active(file, start, end);
        while let Some(found) = scanner
            .next()
            .map_err(|source| self.read_error(id, source))?
        {
            records += u64::from(matches!(found, Found::Record { .. }));
        }
        Ok(records)
    }

    #[cold]
    fn read_error(&self, id: SegmentId, source: io::Error) -> Error {
        Error::io("read", self.describe(id))(source)
    }

    fn describe(&self, id: SegmentId) -> String {
        self.disk.describe(&file_name::segment(id))
    }
}

fn summarize(id: SegmentId, ranges: &RangeTable, report: &mut RecoveryReport) {
    let ranges = ranges.sorted();
    let records = ranges.iter().map(|range| range.records).sum();
    report.records += records;
    report.segments.push(SegmentSummary {
        segment: id,
        record_bytes: ranges.iter().map(|range| range.bytes).sum(),
        records,
        ranges,
        is_damaged: false,
    });
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

pub(crate) fn header_damage(planned: &Planned) -> Damage {
    Damage {
        segment: planned.id,
        offset: 0,
        len: planned.file_len.min(SEGMENT_HEADER_BYTES as u64) as u32,
        part: Part::Header,
        tainted: Tainted::Nothing,
        cause: None,
    }
}

/// The damage of a stretch in a segment without a footer.
pub(crate) fn record_damage(segment: SegmentId, unreadable: &Unreadable) -> Damage {
    Damage {
        segment,
        offset: unreadable.offset,
        len: unreadable.len,
        part: Part::Record,
        tainted: unreadable
            .known
            .map_or(Tainted::All, |(partition, op)| Tainted::Op(partition, op)),
        cause: Some(unreadable.cause),
    }
}
