//! Reads single values and whole stretches of segments. Used from the read thread.
//!
//! In:  positions and what is expected there. Out: values, or chunks of records for the cleaner and for
//! replicas that catch up.
//!
//! Invariants:
//! - A value is returned only if its record's checksums match and it is the expected op and key
//!   (rule `reads check what they got`: another record may stand at a position that a lost tail once had).
//! - At most `files_open_max` files are open.

use crate::config::LogConfig;
use crate::damage::{Damage, Part, Tainted};
use crate::disk::{Access, Disk, DiskFile};
use crate::error::ReadError;
use crate::file_name;
use crate::segment::footer::{self, FooterState};
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::scanner::{Found, Scanner};
use brickyard_types::record::{
    self, DecodeError, HEADER_BYTES, Header, Kind, Record, VerifiedRecords,
};
use brickyard_types::{Op, PartitionId, Position, SegmentId, UnixMillis, View};
use std::io;
use std::ops::Range;

/// Bytes that a request id, an origin, a committed op and a short outcome add to a record.
const EXTRAS_BYTES: usize = 36;

/// The last record of a chunk may go so far beyond the chunk's bytes and is still read together with the others.
const OVERHANG_BYTES: usize = 4096;

/// What is wanted, and from where.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// Where the record starts.
    pub position: Position,
    /// The key whose value is wanted.
    pub key: &'a [u8],
    /// Length of the value as far as is known: the first read is this long. 0 is correct but slower.
    pub value_len: usize,
    /// The partition whose record this must be; `None`: one of the key's table, which was split since it was written.
    pub partition: Option<PartitionId>,
    /// The op it must be.
    pub op: Op,
    /// The view it must be of, if the caller knows.
    pub view: Option<View>,
}

/// A value that was read; its bytes are in the caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadValue {
    /// Where in the buffer the value is.
    pub value: Range<usize>,
    /// The record's header.
    pub header: Header,
    /// The flags of the key's own part: the record's, or those of its entry in a batch.
    pub flags: u8,
    /// When the key is gone; of its own entry in a batch.
    pub expires_at: Option<UnixMillis>,
}

/// A stretch of a segment.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Which segment.
    pub segment: SegmentId,
    /// The records, in order. Marks and damage stand between them.
    pub records: VerifiedRecords,
    /// Where to go on; `None`: that was the last.
    pub next: Option<u32>,
    /// What could not be read. A segment with damage must not be deleted.
    pub damages: Vec<Damage>,
}

impl Chunk {
    /// The records, in order.
    pub fn records(&self) -> impl Iterator<Item = (Position, Record<'_>)> {
        self.records.iter().map(|(offset, record)| {
            let segment = self.segment;
            (Position { segment, offset }, record)
        })
    }
}

/// See the module.
pub struct Reader<D: Disk> {
    disk: D,
    /// Most recently used last.
    files: Vec<(SegmentId, D::File)>,
    files_max: usize,
    scan_buffer: Vec<u8>,
    /// Of the sealed segment that was scanned last, which does not change: it is long where there are many partitions.
    footer: Option<(SegmentId, FooterState)>,
}

impl<D: Disk> Reader<D> {
    /// A reader of its own for a thread of its own; there can be several of one log.
    #[must_use]
    pub fn new(disk: D, config: &LogConfig) -> Self {
        Self {
            disk,
            files: Vec::new(),
            files_max: config.files_open_max.max(1),
            scan_buffer: Vec::new(),
            footer: None,
        }
    }

    /// Reads one value into `buffer` (its old content is dropped) and says where in it it is.
    ///
    /// - Time: one `pread` if `value_len` is right, else two.
    ///
    /// # Errors
    /// - [`ReadError::Io`]: the operating system refused, or the segment was deleted (`NotFound`:
    ///   the cleaner moved the record; look the key up again).
    /// - [`ReadError::Damaged`], [`ReadError::Mismatch`]: the value is not there.
    pub fn read(
        &mut self,
        request: &ReadRequest<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<ReadValue, ReadError> {
        let position = request.position;
        let io_error = |source| ReadError::Io { position, source };
        let file = self.file(position.segment).map_err(io_error)?;
        let offset = u64::from(position.offset);
        let mut need = HEADER_BYTES + EXTRAS_BYTES + request.key.len() + request.value_len;
        let record = loop {
            buffer.resize(need, 0);
            let got = file.read_full_at(buffer, offset).map_err(io_error)?;
            let is_all = got < need;
            match record::decode(&buffer[..got]) {
                Ok(record) => break record,
                // The header is sound, so the length it gives is one that was written.
                Err(DecodeError::Short { need: more }) if more > need && !is_all => need = more,
                Err(cause) => return Err(ReadError::Damaged { position, cause }),
            }
        };
        let header = record.header;
        let mismatch = ReadError::Mismatch {
            position,
            expected: (request.partition, request.view, request.op),
            found: (header.partition, header.view, header.op),
        };
        let is_expected = request.partition.is_none_or(|it| it == header.partition)
            && header.op == request.op
            && request.view.is_none_or(|view| view == header.view);
        if !is_expected {
            return Err(mismatch);
        }
        let (len, value_len) = (record.len, record.value.len());
        assert!(
            value_len <= len && len <= buffer.len(),
            "{value_len} of {len} of {} bytes",
            buffer.len()
        );
        match header.kind {
            Kind::Put if record.key == request.key => Ok(ReadValue {
                value: len - value_len..len,
                header,
                flags: header.flags,
                expires_at: header.expires_at,
            }),
            Kind::Batch => {
                let mut end = len - value_len;
                let mut found = None;
                // The last entry of a key is the one that holds.
                for entry in record::entries(record.value) {
                    let entry = entry.map_err(|cause| ReadError::Damaged { position, cause })?;
                    end += record::ENTRY_HEADER_BYTES + entry.key.len() + entry.value.len();
                    if entry.kind == Kind::Put && entry.key == request.key {
                        found = Some(ReadValue {
                            value: end - entry.value.len()..end,
                            header,
                            flags: entry.flags,
                            expires_at: entry.expires_at,
                        });
                    }
                }
                found.ok_or(mismatch)
            }
            _ => Err(mismatch),
        }
    }

    /// Reads the records of about `bytes_max` bytes of a segment, at least one, from offset `from` on
    /// (0: from the start).
    ///
    /// Everything before `written` was appended; what stands behind may be half a batch, or one that is
    /// taken back. So the active segment is read up to there, and a later one has nothing yet.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn scan_chunk(
        &mut self,
        segment: SegmentId,
        from: u32,
        bytes_max: usize,
        written: Position,
    ) -> io::Result<Chunk> {
        let mut chunk = Chunk {
            segment,
            records: VerifiedRecords::default(),
            next: None,
            damages: Vec::new(),
        };
        if segment > written.segment {
            return Ok(chunk);
        }
        let buffer = std::mem::take(&mut self.scan_buffer);
        // A pass that goes on; one that begins looks again.
        let known = self.footer.take().filter(|it| from > 0 && it.0 == segment);
        let file = self.file(segment)?;
        let file_len = file.byte_len()?;
        let start = u64::from(from).max(SEGMENT_HEADER_BYTES as u64);
        let mut sealed = None;
        let mut scanner = if segment == written.segment {
            Scanner::active(file, start, file_len.min(u64::from(written.offset)))
        } else {
            let footer = match known {
                Some((_, footer)) => footer,
                None => footer::read(file, segment, file_len)?,
            };
            let scanner = Scanner::of(file, start, file_len, &footer);
            sealed = footer.sound().is_some().then_some((segment, footer));
            scanner
        }
        .reading(bytes_max.saturating_add(OVERHANG_BYTES))
        .with_buffer(buffer);
        chunk.records = VerifiedRecords::with_capacity(bytes_max + OVERHANG_BYTES);
        while let Some(found) = scanner.next_into(Some(&mut chunk.records))? {
            match found {
                Found::Damage(unreadable)
                | Found::Tail(unreadable)
                | Found::Unwritten(unreadable) => chunk.damages.push(Damage {
                    segment,
                    offset: unreadable.offset,
                    len: unreadable.len,
                    part: Part::Record,
                    cause: Some(unreadable.cause),
                    tainted: unreadable
                        .known
                        .map_or(Tainted::All, |(partition, op)| Tainted::Op(partition, op)),
                }),
                Found::Record { .. }
                | Found::Synced(_)
                | Found::End { .. }
                | Found::Footer { .. } => {}
            }
            if chunk.records.byte_len() >= bytes_max {
                let next = scanner.offset();
                assert!(next > from, "a chunk from {from} goes on at {next}");
                chunk.next = Some(next);
                break;
            }
        }
        self.scan_buffer = scanner.into_buffer();
        self.footer = sealed;
        Ok(chunk)
    }

    /// Closes a segment's file, so that a deleted segment's space is given back.
    pub fn forget(&mut self, segment: SegmentId) {
        self.files.retain(|(id, _)| *id != segment);
    }

    fn file(&mut self, segment: SegmentId) -> io::Result<&D::File> {
        let file = match self.files.iter().position(|(id, _)| *id == segment) {
            Some(index) => self.files.remove(index),
            None => {
                let file = self.disk.open(&file_name::segment(segment), Access::Read)?;
                if self.files.len() >= self.files_max {
                    self.files.remove(0);
                }
                (segment, file)
            }
        };
        assert!(
            self.files.len() < self.files_max,
            "{} files are open, and {} may be",
            self.files.len() + 1,
            self.files_max
        );
        Ok(&self.files.push_mut(file).1)
    }
}

#[cfg(test)]
#[path = "read_test.rs"]
mod read_test;
