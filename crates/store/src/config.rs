//! How a brick's log is kept; validated by the server's configuration.

use crate::segment::header::DirectoryId;
use brickyard_types::BrickId;

/// Largest size of a segment: offsets are 32 bits, and the footer needs room behind the records.
pub const SEGMENT_BYTES_MAX: u32 = 1 << 31;

/// How a brick's log is kept.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Whose log it is.
    pub brick: BrickId,
    /// The data directory's id, written into every file.
    pub directory: DirectoryId,
    /// Size in bytes at which a segment is sealed and the next one started. Default 64 MiB: long
    /// enough that headers and seals cost nothing, short enough that cleaning one takes under a second.
    ///
    /// On a small file system less is used, so that there are always segments to clean.
    pub segment_bytes: u32,
    /// Bytes of the file system that only deletes, horizons and the cleaner may use; a full disk
    /// could otherwise not even be emptied. Default 128 MiB: two segments.
    ///
    /// On a small file system at most a sixteenth of it is kept.
    pub reserve_bytes: u64,
    /// Bytes of zeros that are put behind the records where syncs come often, so that most syncs change
    /// nothing but the file's content. 0: never. Default 256 KiB.
    pub runway_bytes: u32,
    /// Syncs in so many bytes of records from which on they come often. Default 16: with fewer the zeros would
    /// cost the disk more than they save.
    pub runway_syncs_min: u32,
    /// Whether the operating system may have lost writes since the log was last open.
    pub page_cache: PageCache,
    /// Segment files that a [`crate::Reader`] keeps open. Default 64.
    pub files_open_max: usize,
}

impl LogConfig {
    /// The defaults.
    #[must_use]
    pub const fn new(brick: BrickId, directory: DirectoryId) -> Self {
        Self {
            brick,
            directory,
            segment_bytes: 64 << 20,
            reserve_bytes: 128 << 20,
            runway_bytes: 256 << 10,
            runway_syncs_min: 16,
            page_cache: PageCache::MaybeLost,
            files_open_max: 64,
        }
    }
}

/// Whether writes that were not synced can have been lost since the log was last open.
///
/// It decides what unreadable bytes in an unsealed segment are. If nothing can have been lost, only a
/// record that the file ends in the middle of is a torn tail. Otherwise everything from the first
/// unreadable byte on that no mark says was synced is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCache {
    /// The machine has not rebooted: whatever was written is there.
    Intact,
    /// It has, or nobody knows.
    MaybeLost,
}
