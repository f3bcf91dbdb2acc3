//! A brick's log on disk: append, sync, read, recover, delete, inspect.
//!
//! In:  batches of encoded records. Out: positions, durability, values, and after a restart every
//! record again, in order.
//!
//! ```text
//!  brick loop ──batch──▶ Appender ──positions──▶ brick loop          append thread
//!                           │ rolled segments
//!             ──position──▶ Syncer ──durable──▶ brick loop           sync thread
//!             ──position──▶ Reader ──value, chunk──▶ brick loop      read thread
//! ```
//! Each of the three is `Send` and belongs to one thread. They share files, an atomic position and
//! the first fatal error; there are no locks.
//!
//! Invariants:
//! - What [`Syncer::sync`] covered survives a power cut; what [`Appender::append`] refused never
//!   comes back.
//! - Nothing that fails a checksum is ever yielded, and nothing that was synced is silently dropped:
//!   unreadable bytes are a torn tail only where a crash can have torn.
//! - A failed sync ends the use of the log until it is opened again.
//!
//! Not here: which records are live and which segments to clean (`brick`, which has the index), threads
//! (`server`).
//! The format is told byte by byte in docs/data-file.md.
//! Source: Bitcask (Sheehy & Smith, 2010); The Log-Structured File System (Rosenblum & Ousterhout,
//! 1992); Protocol-Aware Recovery (Alagappan et al., FAST 2018).

mod append;
mod bytes;
mod config;
mod control_log;
mod damage;
pub mod data_dir;
mod disk;
mod error;
mod file_name;
#[cfg(test)]
mod fixture;
mod free;
mod hint;
pub mod inspect;
#[cfg(any(test, feature = "testing"))]
mod mem_disk;
mod os_disk;
mod read;
mod recovery;
mod segment;
mod shared;
mod space;
mod sync;

pub use append::{Appended, Appender, Rolled};
pub use config::{LogConfig, PageCache, SEGMENT_BYTES_MAX};
pub use control_log::{
    ControlDamage, ControlEntry, ControlHardState, ControlLog, ControlLogError, ControlOpened,
    ControlReport, ControlScan, ControlSnapshot, ControlState, ControlTerm, inspect_control_log,
    scan_control_log,
};
pub use damage::{Damage, Part, Tainted};
pub use data_dir::{BootNote, Create, DataDir, DataDirError};
pub use disk::{Access, Disk, DiskFile, Space, read_file, replace_file};
pub use error::{AppendError, Poisoned, ReadError, StoreError};
pub use free::FreeJob;
pub use hint::{HintEntry, HintJob, HintRecord, read_hints};
#[cfg(any(test, feature = "testing"))]
pub use mem_disk::{Fault, MemDisk, MemFile};
pub use os_disk::OsDisk;
pub use read::{Chunk, ReadRequest, ReadValue, Reader};
pub use recovery::{Cut, Opened, RecoveredRecord, RecoveryReport, SegmentSummary, open};
pub use segment::header::DirectoryId;
pub use segment::range::PartitionRange;
#[cfg(any(test, feature = "testing"))]
pub use segment::scan_bytes;
pub use space::Purpose;
pub use sync::Syncer;

/// The format of every file of this crate; a file of another one is refused untouched.
pub const FORMAT_VERSION: u32 = 1;

#[cfg(test)]
mod clean_test;
#[cfg(test)]
mod format_test;
