//! Where a power cut tore the log, and how what is behind the tear is put aside.

use super::plan::{Planned, open_segment};
use super::report::{Cut, RecoveryReport};
use super::visit::Visitor;
use crate::config::PageCache;
use crate::disk::{Access, Disk, DiskFile, replace_file};
use crate::error::StoreError;
use crate::file_name;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::scanner::{Found, Scanner};
use brickyard_types::{Position, SegmentId};
use std::io;

impl<D: Disk> Visitor<'_, D> {
    /// Whether the log is known to have been synced past `at`, so that what is unreadable there is
    /// not the work of a crash.
    pub(super) fn was_synced(
        &mut self,
        at: Position,
        planned: &Planned,
        later: &[Planned],
    ) -> Result<bool, StoreError> {
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

    fn look_ahead(&mut self, planned: &Planned) -> Result<(), StoreError> {
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
    pub(super) fn cut(
        &self,
        file: &D::File,
        at: Position,
        file_len: u64,
        later: &[Planned],
        report: &mut RecoveryReport,
    ) -> Result<(), StoreError> {
        self.note_cut()?;
        let start = u64::from(at.offset);
        assert!(start <= file_len, "a cut at {at} of {file_len} bytes");
        assert!(report.torn.is_none(), "the log ends where it was cut first");
        assert!(
            later.iter().all(|planned| planned.id > at.segment),
            "what is put out of the way comes after {at}"
        );
        let mut records = self.count_records(at.segment, file, start, file_len)?;
        if records > 0 {
            let mut bytes = vec![0; (file_len - start) as usize];
            let name = file_name::cut(at.segment);
            file.read_full_at(&mut bytes, start)
                .and_then(|_| replace_file(self.disk, &name, &bytes))
                .map_err(StoreError::io(
                    "keep the cut tail in",
                    self.disk.describe(&name),
                ))?;
            report.set_aside.push(name);
        }
        for planned in later.iter().rev() {
            let (file, file_len) = open_segment(self.disk, planned.id, Access::Read)?;
            records += self.count_records(planned.id, &file, 0, file_len)?;
            let from = file_name::segment(planned.id);
            let to = file_name::cut(planned.id);
            self.disk
                .rename(&from, &to)
                .map_err(StoreError::io("rename", self.disk.describe(&from)))?;
            report.set_aside.push(to);
        }
        if !later.is_empty() {
            self.disk
                .sync_dir()
                .map_err(StoreError::io("sync", self.disk.describe("")))?;
        }
        report.torn = Some(Cut {
            at,
            len: file_len - start,
            records,
        });
        Ok(())
    }

    /// A record that was synced, and the last one when a bit of it turned over, looks like one that a power cut has
    /// torn: whoever goes on from this log has to know that its end was cut. (Where the page cache has lived a record
    /// ends early only if it was never written.)
    fn note_cut(&self) -> Result<(), StoreError> {
        if self.page_cache == PageCache::Intact {
            return Ok(());
        }
        match self.disk.create(file_name::TORN) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => created.and_then(|file| file.sync_data()),
        }
        .and_then(|()| self.disk.sync_dir())
        .map_err(StoreError::io(
            "create",
            self.disk.describe(file_name::TORN),
        ))
    }

    fn count_records(
        &self,
        id: SegmentId,
        file: &D::File,
        start: u64,
        end: u64,
    ) -> Result<u64, StoreError> {
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
}
