//! The writing end of a brick's log. One thread at a time uses it: the append thread, or the loop for a short batch.
//!
//! In:  batches of encoded records. Out: where each batch starts; [`Rolled`] for the [`Syncer`].
//!
//! Invariants:
//! - A batch is in one segment, as a whole, or nothing of it ever was: after an error no crash
//!   brings any of it back.
//! - Ids and offsets grow in the order of the calls.
//! - Nothing is written after the log was poisoned.
//!
//! Not here: making it durable, sealing and deleting segments (`sync.rs`); how much room there is
//! (`space.rs`).
//!
//! [`Syncer`]: crate::Syncer

use crate::config::{LogConfig, SEGMENT_BYTES_MAX};
use crate::disk::{Disk, DiskFile, Space, note_failed_sync};
use crate::error::{AppendError, Poisoned};
use crate::file_name;
use crate::segment::header::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::segment::mark::{MARK_BYTES, Mark};
use crate::segment::range::{PartitionRange, RangeTable};
use crate::shared::Shared;
use crate::space::{Purpose, SpaceGuard, effective_segment_bytes, is_full};
use brickyard_types::record::{self, Header};
use brickyard_types::{Position, SegmentId};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Room kept behind the records for a footer of up to a million partitions.
const FOOTER_ROOM: u64 = 64 << 20;

/// Where a batch landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Position of the batch's first byte; a record's is this plus its offset in the batch.
    pub start: Position,
    /// Position behind its last byte; hand it to [`crate::Syncer::sync`] to make the batch durable.
    pub end: Position,
}

/// The segment that is being written.
pub(crate) struct Active<F> {
    pub(crate) id: SegmentId,
    pub(crate) file: Arc<F>,
    pub(crate) len: u32,
    pub(crate) ranges: RangeTable,
    /// It has its end mark: nothing more may be appended.
    pub(crate) is_ended: bool,
}

impl<F> Active<F> {
    /// Whether the log is as young as it can be.
    fn is_first_use(&self) -> bool {
        self.id == SegmentId(1) && self.len as usize == SEGMENT_HEADER_BYTES
    }
}

/// A segment is full and the next one has been started. Give it to [`crate::Syncer::add_rolled`].
pub struct Rolled<D: Disk> {
    pub(crate) full: Full<D::File>,
    pub(crate) next: (SegmentId, Arc<D::File>),
}

/// A segment that takes no more records and is not sealed yet.
pub(crate) struct Full<F> {
    pub(crate) id: SegmentId,
    pub(crate) file: Arc<F>,
    pub(crate) records_end: u32,
    pub(crate) ranges: Vec<PartitionRange>,
    /// Recovery found unreadable records in it.
    pub(crate) is_damaged: bool,
}

impl<D: Disk> Rolled<D> {
    /// The segment that is full.
    #[must_use]
    pub fn segment(&self) -> SegmentId {
        self.full.id
    }

    /// Its size in bytes without the footer.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.full.records_end
    }
}

/// See the module.
pub struct Appender<D: Disk> {
    disk: D,
    config: LogConfig,
    active: Active<D::File>,
    shared: Arc<Shared>,
    rolled: VecDeque<Rolled<D>>,
    /// The position in the newest mark.
    marked: Position,
    segment_bytes: u64,
    space: SpaceGuard,
    runway: Runway,
    /// Headers and lengths of the batch under way.
    batch: Vec<(Header, usize)>,
}

/// When zeros are put behind the records.
#[derive(Default)]
struct Runway {
    /// Where the active segment's records must have come before that is asked again.
    ask_at: u64,
    /// Syncs noted in the log since it was asked last.
    syncs: u32,
}

impl<D: Disk> Appender<D> {
    pub(crate) fn new(
        disk: D,
        config: LogConfig,
        active: Active<D::File>,
        shared: Arc<Shared>,
    ) -> Self {
        // Where nobody knows how much room there is, the disk is taken for a large one.
        let unknown = Space {
            free: u64::MAX,
            total: u64::MAX,
        };
        let space = disk.space().unwrap_or(unknown);
        let segment_bytes = effective_segment_bytes(&config, space);
        assert!(active.id.0 > 0, "0 stands for no segment");
        assert!(
            !active.is_ended,
            "segment {} takes no more records",
            active.id
        );
        assert!(
            active.len as usize >= SEGMENT_HEADER_BYTES,
            "segment {} begins with its header and ends at {}",
            active.id,
            active.len
        );
        Self {
            // An empty log has nothing worth a mark.
            marked: if active.is_first_use() {
                shared.synced()
            } else {
                Position::NONE
            },
            batch: Vec::new(),
            space: SpaceGuard::new(&config, space),
            runway: Runway::default(),
            rolled: VecDeque::new(),
            disk,
            config,
            active,
            shared,
            segment_bytes,
        }
    }

    /// Appends a batch of encoded records and returns where it landed.
    ///
    /// The batch can be read at once, and is durable after [`crate::Syncer::sync`] of its end.
    ///
    /// - Sizes: one or more whole records; up to 2 GiB together. A batch that is larger than
    ///   `segment_bytes` gets a segment of its own.
    /// - Time: one `pwrite`; when the segment is full also one file is created. No sync.
    /// - Order: in the order of the calls.
    ///
    /// Call [`Self::take_rolled`] after every append, failed ones too.
    ///
    /// # Errors
    /// - [`AppendError::DiskFull`]: nothing of the batch is in the log; later appends may succeed.
    /// - [`AppendError::NoSegment`]: the same.
    /// - [`AppendError::TooLarge`]: the same, but this batch is never possible.
    /// - [`AppendError::Poisoned`]: the batch's fate is unknown; stop the brick.
    ///
    /// # Panics
    /// If `batch` is empty or not a run of whole records (a caller bug).
    pub fn append(&mut self, batch: &[u8], purpose: Purpose) -> Result<Appended, AppendError> {
        self.shared.check().map_err(AppendError::Poisoned)?;
        assert!(!batch.is_empty(), "an append of nothing");
        let bytes = batch.len() as u64;
        let max = u64::from(SEGMENT_BYTES_MAX) - FOOTER_ROOM;
        if bytes > max {
            return Err(AppendError::TooLarge { bytes, max });
        }
        self.parse(batch);
        assert!(
            !self.batch.is_empty(),
            "a batch of {bytes} bytes has a record"
        );
        self.space.admit(&self.disk, bytes, purpose)?;
        if !self.has_room(batch.len()) {
            self.start_next(bytes)?;
        }
        self.mark_synced()?;
        let start = self.end();
        self.write(batch)?;
        for (header, len) in self.batch.drain(..) {
            self.active.ranges.add(&header, len);
        }
        let end = self.end();
        // What the loop, the syncer and the reader go by.
        assert_eq!(start.segment, end.segment, "a batch is in one segment");
        assert_eq!(
            u64::from(end.offset - start.offset),
            bytes,
            "a batch from {start} to {end}"
        );
        if u64::from(end.offset) >= self.runway.ask_at {
            self.extend_runway();
        }
        Ok(Appended { start, end })
    }

    /// Puts zeros behind the records where syncs come often: a sync of what is then written over them changes no
    /// length and takes no block, so it has nothing to write but the records.
    ///
    /// They are only a help: what goes wrong here is told by the write that cannot do without.
    #[cold]
    fn extend_runway(&mut self) {
        let start = u64::from(self.active.len);
        let wanted = u64::from(self.config.runway_bytes);
        let syncs = std::mem::take(&mut self.runway.syncs);
        let end = (start + wanted).min(self.segment_bytes);
        self.runway.ask_at = if wanted == 0 {
            u64::MAX
        } else {
            end.max(start + 1)
        };
        let is_worth_it = syncs >= self.config.runway_syncs_min && start < end;
        if !is_worth_it
            || self
                .space
                .admit(&self.disk, wanted, Purpose::Store)
                .is_err()
        {
            return;
        }
        let zeros = vec![0; (end - start) as usize];
        if self.active.file.write_all_at(&zeros, start).is_err() {
            // A part of them may be there, which does no harm.
            self.runway.ask_at = u64::MAX;
        }
    }

    /// Whether a batch of so many bytes goes into the active segment.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        let has_records = self.active.len as usize > SEGMENT_HEADER_BYTES;
        let full_len = u64::from(self.active.len) + bytes as u64 + 2 * MARK_BYTES as u64;
        !(self.active.is_ended || (has_records && full_len > self.segment_bytes))
    }

    /// Where the next batch would start.
    #[must_use]
    pub fn end(&self) -> Position {
        Position {
            segment: self.active.id,
            offset: self.active.len,
        }
    }

    /// The segments that filled up since the last call, oldest first, each once.
    ///
    /// They must reach the [`crate::Syncer`] before any position in a later segment does.
    pub fn take_rolled(&mut self) -> Option<Rolled<D>> {
        self.rolled.pop_front()
    }

    /// Ends the active segment, however little is in it, and starts the next: the sync after this one
    /// seals it. A segment without a record stays the active one.
    ///
    /// Call [`Self::take_rolled`] afterwards, also after an error.
    ///
    /// # Errors
    /// As [`Self::append`]; for want of space, everything goes on in the active segment, or in the next
    /// one if the end of this one was noted already.
    pub fn roll(&mut self) -> Result<(), AppendError> {
        self.shared.check().map_err(AppendError::Poisoned)?;
        if self.active.ranges.is_empty() && !self.active.is_ended {
            return Ok(());
        }
        let bytes = (MARK_BYTES + SEGMENT_HEADER_BYTES) as u64;
        self.space.admit(&self.disk, bytes, Purpose::Store)?;
        self.start_next(bytes)
    }

    /// Notes in the log how far it was synced, if that is further than the last note.
    ///
    /// Appends do this by themselves; call it before the process ends, between two syncs, so that
    /// the next start can tell rot from a torn tail down to the last byte.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn mark_synced(&mut self) -> Result<(), AppendError> {
        let synced = self.shared.synced();
        // What was synced was written before.
        assert!(
            synced <= self.end(),
            "synced through {synced}, the log ends at {}",
            self.end()
        );
        if synced <= self.marked || self.active.is_ended {
            return Ok(());
        }
        self.write(&Mark::Synced(synced).encode())?;
        self.marked = synced;
        self.runway.syncs += 1;
        Ok(())
    }

    /// Bytes at which a segment is full; less than configured on a small file system.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Writes `bytes` at the end of the active segment, or takes back what was written of them.
    fn write(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        let offset = u64::from(self.active.len);
        assert!(
            !self.active.is_ended,
            "a write behind the end of segment {}",
            self.active.id
        );
        assert!(
            offset + bytes.len() as u64 <= u64::from(SEGMENT_BYTES_MAX),
            "a write of {} bytes at {offset} fits into a segment",
            bytes.len()
        );
        let Err(error) = self.active.file.write_all_at(bytes, offset) else {
            self.active.len += bytes.len() as u32;
            return Ok(());
        };
        if !is_full(&error) {
            return Err(self.poison("write to", &error));
        }
        // The cut must be durable before the error is: a power cut could bring the old length back,
        // and with it those records of the batch that were written whole.
        let undone = self.active.file.set_len(offset).and_then(|()| {
            let synced = self.active.file.sync_data();
            synced.inspect_err(|_| note_failed_sync(&self.disk, file_name::UNSURE))
        });
        match undone {
            Ok(()) => Err(self.space.full(&self.disk, bytes.len() as u64)),
            Err(error) => Err(self.poison("take back a failed write from", &error)),
        }
    }

    /// Starts the next segment. The full one is sealed by the syncer.
    fn start_next(&mut self, needed: u64) -> Result<(), AppendError> {
        if !self.active.is_ended {
            self.write(&Mark::End(self.active.id).encode())?;
            self.active.is_ended = true;
        }
        let id = SegmentId(self.active.id.0 + 1);
        match create_segment(&self.disk, &self.config, id) {
            Ok(active) => {
                let full = std::mem::replace(&mut self.active, active);
                self.runway = Runway::default();
                assert!(full.id < id, "segment {id} follows segment {}", full.id);
                assert!(full.is_ended, "segment {} has its end mark", full.id);
                self.rolled.push_back(Rolled {
                    full: Full {
                        id: full.id,
                        file: full.file,
                        records_end: full.len,
                        ranges: full.ranges.sorted(),
                        is_damaged: false,
                    },
                    next: (id, Arc::clone(&self.active.file)),
                });
                Ok(())
            }
            Err(error) if is_full(&error) => Err(self.space.full(&self.disk, needed)),
            Err(source) => Err(AppendError::NoSegment {
                file: self.disk.describe(&file_name::segment(id)),
                source,
            }),
        }
    }

    /// Reads the headers of a batch; what would be unreadable later must not be written now.
    #[inline]
    fn parse(&mut self, batch: &[u8]) {
        self.batch.clear();
        let mut rest = batch;
        while !rest.is_empty() {
            let head = record::decode_header(rest);
            let Some(head) = head.ok().filter(|head| head.len <= rest.len()) else {
                panic!(
                    "an append of {} bytes is no run of records: offset {} holds {head:?}",
                    batch.len(),
                    batch.len() - rest.len(),
                );
            };
            self.batch.push((head.header, head.len));
            rest = &rest[head.len..];
        }
    }

    fn poison(&self, doing: &'static str, error: &io::Error) -> AppendError {
        let name = file_name::segment(self.active.id);
        AppendError::Poisoned(self.shared.poison(Poisoned {
            doing,
            file: self.disk.describe(&name),
            cause: error.to_string(),
        }))
    }
}

/// Creates a segment with its header.
pub(crate) fn create_segment<D: Disk>(
    disk: &D,
    config: &LogConfig,
    id: SegmentId,
) -> io::Result<Active<D::File>> {
    let name = file_name::segment(id);
    let file = match disk.create(&name) {
        // Left by an attempt that found the disk full: the id has never been in use.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(&name)?;
            disk.create(&name)?
        }
        other => other?,
    };
    assert!(id.0 > 0, "0 stands for no segment");
    let header = SegmentHeader {
        segment: id,
        brick: config.brick,
        directory: config.directory,
        created: disk.unix_millis(),
    };
    if let Err(error) = file.write_all_at(&header.encode(), 0) {
        // Best effort: a leftover is cleared by the next attempt, or by the next start.
        let _ = disk.remove(&name);
        return Err(error);
    }
    Ok(Active {
        id,
        file: Arc::new(file),
        len: SEGMENT_HEADER_BYTES as u32,
        ranges: RangeTable::default(),
        is_ended: false,
    })
}

#[cfg(test)]
#[path = "append_test.rs"]
mod append_test;
