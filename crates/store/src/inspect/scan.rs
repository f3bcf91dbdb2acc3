//! Verifies one segment, its footer and its hint file.

use super::report::{HintState, SegmentReport};
use crate::damage::{Damage, Part, Tainted, push_damage};
use crate::disk::{Access, Disk, read_file};
use crate::error::StoreError;
use crate::file_name;
use crate::hint::{HintWriter, Hints};
use crate::recovery::{Counts, Planned, header_damage, open_segment, record_damage, taint};
use crate::segment::footer::Footer;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::scanner::{Found, Scanner};
use brickyard_types::record::Kind;

/// Verifies a segment; `visit` gets each sound record's offset and bytes. Also returns where the
/// records end.
pub(super) fn segment<D: Disk>(
    disk: &D,
    planned: &Planned,
    visit: &mut dyn FnMut(u32, &[u8]),
) -> Result<(SegmentReport, u64), StoreError> {
    let id = planned.id;
    let footer = planned.footer.sound();
    let mut report = SegmentReport {
        segment: id,
        file_bytes: planned.file_len,
        header: planned
            .header
            .ok()
            .map(|header| (header.directory, header.brick, header.created)),
        is_sealed: planned.is_sealed,
        records: 0,
        record_bytes: 0,
        tombstones: 0,
        ranges: Vec::new(),
        damages: Vec::new(),
        torn_tail: None,
        hint: HintState::Missing,
    };
    if planned.header.is_err() && planned.file_len > 0 {
        report.damages.push(header_damage(planned));
    }

    let (file, file_len) = open_segment(disk, id, Access::Read)?;
    let start = (SEGMENT_HEADER_BYTES as u64).min(file_len);
    let mut records_end = planned.footer.records_end().unwrap_or(file_len);
    let mut written_len = file_len;
    let mut scanner = Scanner::of(&file, start, file_len, &planned.footer);
    let mut counts = Counts::default();
    let mut unreadable = Vec::new();
    let mut hints = HintWriter::new();
    while let Some(found) = scanner
        .next()
        .map_err(|source| StoreError::io("read", disk.describe(&file_name::segment(id)))(source))?
    {
        match found {
            Found::Record {
                offset,
                record,
                raw,
            } => {
                counts.sound.add(&record.header, record.len);
                hints.add(offset, &record);
                report.records += 1;
                report.record_bytes += record.len as u64;
                let is_tombstone = matches!(record.header.kind, Kind::Delete | Kind::Clear);
                report.tombstones += u64::from(is_tombstone);
                visit(offset, raw);
            }
            Found::Tail(found) if !planned.is_sealed => {
                report.torn_tail = Some((found.offset, u64::from(found.len)));
                records_end = u64::from(found.offset);
            }
            Found::Unwritten(found) if !planned.is_sealed => {
                records_end = u64::from(found.offset);
                written_len = records_end;
            }
            Found::Damage(found) | Found::Tail(found) | Found::Unwritten(found) => {
                counts
                    .known
                    .extend(found.known.map(|(partition, _)| partition));
                unreadable.push(found);
            }
            Found::End { records_end: end } => records_end = u64::from(end),
            Found::Footer { offset } => records_end = u64::from(offset),
            Found::Synced(_) => {}
        }
    }
    for found in &unreadable {
        let damage = Damage {
            tainted: taint(found, footer, &counts),
            ..record_damage(id, found)
        };
        push_damage(&mut report.damages, damage);
    }
    report.ranges = counts.sound.sorted();
    let is_footer_wrong = match footer {
        Some(footer) => unreadable.is_empty() && !agrees(footer, &report),
        None => planned.is_sealed || records_end < written_len && report.torn_tail.is_none(),
    };
    if is_footer_wrong {
        report.damages.push(Damage {
            segment: id,
            offset: records_end as u32,
            len: file_len.saturating_sub(records_end) as u32,
            part: Part::Footer,
            tainted: Tainted::Nothing,
            cause: None,
        });
    }
    if planned.has_hint {
        let is_whole = unreadable.is_empty();
        let expected = is_whole.then(|| hints.finish(id, records_end as u32));
        report.hint = hint(disk, planned, footer, expected.as_deref())?;
    }
    Ok((report, records_end))
}

/// Whether the footer counts what was found; a segment that was damaged when it was sealed proves
/// nothing.
fn agrees(footer: &Footer, report: &SegmentReport) -> bool {
    footer.was_damaged || (footer.ranges == report.ranges && footer.records == report.records)
}

/// A hint file is a function of its segment, so it is sound if it is what would be written now.
fn hint<D: Disk>(
    disk: &D,
    planned: &Planned,
    footer: Option<&Footer>,
    expected: Option<&[u8]>,
) -> Result<HintState, StoreError> {
    let name = file_name::hint(planned.id);
    let bytes = read_file(disk, &name).map_err(StoreError::io("read", disk.describe(&name)))?;
    if expected == Some(&bytes[..]) {
        return Ok(HintState::Sound);
    }
    let Some(footer) = footer else {
        return Ok(HintState::Wrong("its segment has no footer".to_owned()));
    };
    let checked = Hints::check_for(&bytes, planned.id, footer.records_end, footer.records);
    Ok(match checked {
        Err(error) => HintState::Wrong(error.to_string()),
        // It cannot be compared with a segment that is damaged itself.
        Ok(_) if expected.is_none() => HintState::Sound,
        Ok(_) => HintState::Wrong("it says something else than its segment".to_owned()),
    })
}
