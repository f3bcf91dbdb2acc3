//! Reads a segment's records one after the other and finds its way past damage.
//!
//! In:  a file and where its records end. Out: [`Found`], in order of offset.
//!
//! Invariants:
//! - Every byte between start and end is in exactly one `Found`.
//! - A record or a mark is yielded only if each of its checksums matched.
//!
//! Past damage the next record starts where a sound header says, or else at the next offset at which
//! header and body verify. In a sealed segment it must also belong to a partition of the footer, so
//! that a value that happens to contain a log record is not taken for one of ours.
//!
//! Not here: what damage means for a partition, and when a tail may be cut (`recovery`).

use super::footer::{FOOTER_MAGIC, FooterState};
use super::mark::{MARK_BYTES, MARK_KIND_MIN, Mark};
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::disk::{DiskFile, SECTOR_BYTES};
use brickyard_types::record::{
    self, DecodeError, HEADER_BYTES, Header, Record, VerifiedRecords, flag,
};
use brickyard_types::{Op, PartitionId, Position};
use std::io;

/// Bytes asked of the disk at once, unless a scan is said to be shorter: large enough that the calls cost nothing beside
/// the checksums, small enough to stay in the cache of one core.
const READ_BYTES: usize = 512 * 1024;

/// One stretch of a segment.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// A sound record.
    Record {
        offset: u32,
        record: Record<'a>,
        /// The record's bytes as they are in the file.
        raw: &'a [u8],
    },
    /// A sound mark: the log was synced up to here.
    Synced(Position),
    /// A sound mark: the records end behind it. The scan ends.
    End { records_end: u32 },
    /// Unreadable bytes, with something readable (or the known end of the records) behind them.
    Damage(Unreadable),
    /// Unreadable bytes up to the end of the file.
    Tail(Unreadable),
    /// Zeros up to the end of the file, where no record begins: in a segment that takes records nothing was written
    /// there yet.
    Unwritten(Unreadable),
    /// A footer starts here, but there is no sound trailer. The scan ends.
    Footer { offset: u32 },
}

/// A stretch of bytes that are not records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) offset: u32,
    pub(crate) len: u32,
    pub(crate) cause: DecodeError,
    /// Whose outcome is lost, if the header is sound.
    pub(crate) known: Option<(PartitionId, Op)>,
}

/// What stands at an offset, without the bytes.
enum Stretch {
    Record {
        header: Header,
        key_len: usize,
        value_len: usize,
        len: usize,
    },
    Mark(Mark),
    Footer,
    Bad {
        cause: DecodeError,
        /// Length of the whole record, if its header is sound.
        len: Option<u64>,
        known: Option<(PartitionId, Op)>,
    },
}

/// See the module.
pub(crate) struct Scanner<'f, F> {
    file: &'f F,
    offset: u64,
    end: u64,
    /// Partitions that the footer names, ascending; `None`: there is no footer to believe.
    partitions: Option<Vec<PartitionId>>,
    is_sealed: bool,
    /// The page cache survived: what was interrupted ends with a sector.
    tears_at_sectors: bool,
    /// Behind the last byte before `end` that is not zero, once something unreadable was found.
    written_end: Option<u64>,
    /// Bytes asked of the disk at once.
    read_bytes: usize,
    /// File bytes `buffer_start..buffer_start + filled`.
    buffer: Vec<u8>,
    buffer_start: u64,
    filled: usize,
}

impl<'f, F: DiskFile> Scanner<'f, F> {
    /// Scans `start..end` of an active segment; `end` is the end of the file.
    pub(crate) fn active(file: &'f F, start: u64, end: u64) -> Self {
        Self {
            file,
            offset: start,
            end,
            partitions: None,
            is_sealed: false,
            tears_at_sectors: false,
            written_end: None,
            read_bytes: READ_BYTES,
            buffer: Vec::new(),
            buffer_start: 0,
            filled: 0,
        }
    }

    /// Scans `start..end` of a sealed segment; `end` is where its footer starts.
    pub(crate) fn sealed(
        file: &'f F,
        start: u64,
        end: u64,
        partitions: Option<Vec<PartitionId>>,
    ) -> Self {
        Self {
            partitions,
            is_sealed: true,
            ..Self::active(file, start, end)
        }
    }

    /// Scans a segment from `start` on, as far as it has records.
    pub(crate) fn of(file: &'f F, start: u64, file_len: u64, footer: &FooterState) -> Self {
        let Some(end) = footer.records_end() else {
            return Self::active(file, start, file_len);
        };
        let ranges = footer.sound().map(|footer| footer.ranges.iter());
        let partitions = ranges.map(|ranges| ranges.map(|range| range.partition).collect());
        Self::sealed(file, start, end, partitions)
    }

    /// Lends the buffer of an earlier scanner, so that scanning many segments allocates once.
    pub(crate) fn with_buffer(mut self, buffer: Vec<u8>) -> Self {
        self.buffer = buffer;
        self
    }

    /// A write that was interrupted, if there is one, ends with a sector: what reads as zeros from somewhere else on has rotted.
    pub(crate) fn tearing_at_sectors(mut self, is_so: bool) -> Self {
        self.tears_at_sectors = is_so;
        self
    }

    /// Asks so many bytes of the disk at once: who wants no more than that shall not wait for more.
    pub(crate) fn reading(mut self, bytes: usize) -> Self {
        self.read_bytes = bytes.min(READ_BYTES);
        self
    }

    /// Gives the buffer back.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Where the next stretch starts.
    pub(crate) fn offset(&self) -> u32 {
        self.offset as u32
    }

    /// The next stretch; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Found<'_>>> {
        self.next_into(None)
    }

    /// The same, and a record is also put there.
    pub(crate) fn next_into(
        &mut self,
        verified: Option<&mut VerifiedRecords>,
    ) -> io::Result<Option<Found<'_>>> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let start = self.offset;
        let offset = start as u32;
        match self.classify(start, verified)? {
            Stretch::Record {
                header,
                key_len,
                value_len,
                len,
            } => {
                self.offset += len as u64;
                assert!(
                    self.offset <= self.end,
                    "a record ends at {} of {}",
                    self.offset,
                    self.end
                );
                let at = (start - self.buffer_start) as usize;
                let bytes = &self.buffer[at..at + len];
                let (rest, value) = bytes.split_at(len - value_len);
                let (rest, key) = rest.split_at(rest.len() - key_len);
                let outcome_at = HEADER_BYTES + fixed_extras(header.flags) as usize + 1;
                let record = Record {
                    header,
                    key,
                    value,
                    // Its length was checked, and nothing stands between it and the key.
                    outcome: (header.flags & flag::OUTCOME != 0)
                        .then(|| rest.get(outcome_at..).unwrap_or_default()),
                    len,
                };
                Ok(Some(Found::Record {
                    offset,
                    record,
                    raw: bytes,
                }))
            }
            Stretch::Mark(Mark::Synced(position)) => {
                self.offset += MARK_BYTES as u64;
                assert!(
                    self.offset <= self.end,
                    "a mark ends at {} of {}",
                    self.offset,
                    self.end
                );
                Ok(Some(Found::Synced(position)))
            }
            Stretch::Mark(Mark::End(_)) => {
                self.offset = self.end;
                Ok(Some(Found::End {
                    records_end: offset + MARK_BYTES as u32,
                }))
            }
            Stretch::Footer => {
                self.offset = self.end;
                Ok(Some(Found::Footer { offset }))
            }
            Stretch::Bad { cause, len, known } => {
                let need = len.unwrap_or(HEADER_BYTES as u64);
                let is_unwritten = !self.is_sealed && self.written_end()? <= start;
                // Of a write that was interrupted the rest is missing, or zero where zeros were before it.
                let is_torn = !self.is_sealed && self.torn_end()? < start + need;
                let cause = match cause {
                    DecodeError::Header { .. } | DecodeError::Body { .. } if is_torn => {
                        let need = usize::try_from(need).unwrap_or(usize::MAX);
                        DecodeError::Short { need }
                    }
                    cause => cause,
                };
                let next = match len {
                    _ if is_torn => None,
                    Some(len) => Some(start + len).filter(|next| *next <= self.end),
                    None => self.search(start + 1)?,
                };
                self.offset = next.unwrap_or(self.end);
                assert!(
                    start <= self.offset && self.offset <= self.end,
                    "from {start} on to {} of {}",
                    self.offset,
                    self.end
                );
                let unreadable = Unreadable {
                    offset,
                    len: (self.offset - start) as u32,
                    cause,
                    known,
                };
                Ok(Some(if is_unwritten {
                    Found::Unwritten(unreadable)
                } else if next.is_some() || self.is_sealed {
                    Found::Damage(unreadable)
                } else {
                    Found::Tail(unreadable)
                }))
            }
        }
    }

    /// What stands at `offset`; leaves all of it in the buffer if it is a record, and puts that there.
    fn classify(
        &mut self,
        offset: u64,
        verified: Option<&mut VerifiedRecords>,
    ) -> io::Result<Stretch> {
        let mut need = HEADER_BYTES;
        loop {
            let available = self.fill(offset, need)?;
            let at = (offset - self.buffer_start) as usize;
            let bytes = &self.buffer[at..at + available];
            let cause = match record::verify(bytes) {
                Ok(found) => {
                    let record = found.record();
                    if let Some(verified) = verified {
                        verified.push(offset as u32, &found);
                    }
                    return Ok(Stretch::Record {
                        header: record.header,
                        key_len: record.key.len(),
                        value_len: record.value.len(),
                        len: record.len,
                    });
                }
                Err(DecodeError::Short { need: more }) if more > available => {
                    if offset + more as u64 <= self.end {
                        need = more;
                        continue;
                    }
                    DecodeError::Short { need: more }
                }
                Err(cause) => cause,
            };
            if let Some(mark) = Mark::decode(bytes) {
                return Ok(Stretch::Mark(mark));
            }
            if !self.is_sealed && bytes.starts_with(&FOOTER_MAGIC) {
                return Ok(Stretch::Footer);
            }
            let is_header_sound = match cause {
                DecodeError::Short { need } => need > HEADER_BYTES,
                DecodeError::Header { .. } => false,
                DecodeError::Body { .. } | DecodeError::Field { .. } => true,
            };
            let (len, known) = if is_header_sound {
                let len = HEADER_BYTES as u64 + u64::from(u32_at(bytes, 8));
                let known = (PartitionId(u32_at(bytes, 24)), Op(u64_at(bytes, 32)));
                (Some(len), (bytes[12] < MARK_KIND_MIN).then_some(known))
            } else {
                (None, None)
            };
            return Ok(Stretch::Bad { cause, len, known });
        }
    }

    /// Where at the earliest a write ended that was interrupted.
    fn torn_end(&mut self) -> io::Result<u64> {
        let written = self.written_end()?;
        Ok(if self.tears_at_sectors {
            written.next_multiple_of(SECTOR_BYTES as u64).min(self.end)
        } else {
            written
        })
    }

    /// Behind the last byte that is not zero.
    fn written_end(&mut self) -> io::Result<u64> {
        if let Some(end) = self.written_end {
            return Ok(end);
        }
        let mut bytes = vec![0; READ_BYTES.min(self.end as usize)];
        let mut end = self.end;
        while end > 0 {
            let start = end.saturating_sub(bytes.len() as u64);
            let piece = &mut bytes[..(end - start) as usize];
            let got = self.file.read_full_at(piece, start)?;
            if let Some(last) = piece[..got].iter().rposition(|byte| *byte != 0) {
                end = start + last as u64 + 1;
                break;
            }
            end = start;
        }
        self.written_end = Some(end);
        Ok(end)
    }

    /// The next offset from `from` on at which something of ours verifies.
    fn search(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut offset = from;
        while offset + HEADER_BYTES as u64 <= self.end {
            let available = self.fill(offset, HEADER_BYTES)?;
            let at = (offset - self.buffer_start) as usize;
            let window = &self.buffer[at..at + available];
            let limit = self.end - offset;
            let candidate = window
                .windows(HEADER_BYTES)
                .enumerate()
                .find(|(skip, bytes)| {
                    (!self.is_sealed && bytes.starts_with(&FOOTER_MAGIC))
                        || is_plausible(bytes, limit - *skip as u64)
                })
                .map(|(skip, _)| skip as u64);
            let Some(skip) = candidate else {
                offset += (available - HEADER_BYTES + 1) as u64;
                continue;
            };
            offset += skip;
            match self.classify(offset, None)? {
                Stretch::Record { header, .. } if self.may_have(header.partition) => {
                    return Ok(Some(offset));
                }
                Stretch::Mark(_) | Stretch::Footer => return Ok(Some(offset)),
                Stretch::Record { .. } | Stretch::Bad { .. } => offset += 1,
            }
        }
        Ok(None)
    }

    fn may_have(&self, partition: PartitionId) -> bool {
        self.partitions
            .as_ref()
            .is_none_or(|known| known.binary_search(&partition).is_ok())
    }

    /// Has at least `need` bytes from `offset` in the buffer, fewer only at the end, and returns
    /// how many there are.
    fn fill(&mut self, offset: u64, need: usize) -> io::Result<usize> {
        let buffered = self.buffer_start..self.buffer_start + self.filled as u64;
        let skip = if buffered.contains(&offset) {
            (offset - self.buffer_start) as usize
        } else {
            self.filled
        };
        let kept = self.filled - skip;
        assert!(
            offset <= self.end,
            "nothing is asked for at {offset} behind {}",
            self.end
        );
        let remaining = self.end - offset;
        if kept >= need || kept as u64 >= remaining {
            return Ok(kept);
        }
        self.buffer.copy_within(skip..self.filled, 0);
        self.buffer_start = offset;
        let want = need
            .max(self.read_bytes)
            .min(usize::try_from(remaining).unwrap_or(usize::MAX));
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        let got = self
            .file
            .read_full_at(&mut self.buffer[kept..want], offset + kept as u64)?;
        self.filled = kept + got;
        assert!(
            self.filled <= self.buffer.len(),
            "{kept} and {got} bytes fit into the buffer"
        );
        assert!(
            self.filled as u64 <= remaining,
            "nothing is read behind the end"
        );
        if self.filled < want {
            // The file became shorter since its length was asked: the records end here.
            self.end = offset + self.filled as u64;
        }
        Ok(self.filled)
    }
}

/// Bytes of what stands before the key and the outcome.
fn fixed_extras(flags: u8) -> u64 {
    let request = if flags & flag::REQUEST_ID != 0 { 16 } else { 0 };
    let origin = if flags & flag::ORIGIN != 0 { 4 } else { 0 };
    let committed = if flags & flag::COMMITTED != 0 { 8 } else { 0 };
    request + origin + committed
}

/// Whether `bytes` could be a record's or a mark's header with `limit` bytes from its start to the
/// end; says no to nearly everything at the price of a few comparisons.
fn is_plausible(bytes: &[u8], limit: u64) -> bool {
    let kind = bytes[12];
    let flags = bytes[13];
    if !((1..=9).contains(&kind) || kind >= MARK_KIND_MIN) {
        return false;
    }
    let body_len = u64::from(u32_at(bytes, 8));
    let parts = u64::from(u16_at(bytes, 14)) + u64::from(u32_at(bytes, 16));
    // How long an outcome is stands in the body.
    let outcome_bytes = if flags & flag::OUTCOME != 0 {
        1..=256
    } else {
        0..=0
    };
    let outcome = body_len.checked_sub(parts + fixed_extras(flags));
    outcome.is_some_and(|it| outcome_bytes.contains(&it)) && HEADER_BYTES as u64 + body_len <= limit
}

#[cfg(test)]
#[path = "scanner_test.rs"]
mod scanner_test;
