//! One file of the log: a header, records back to back, and a footer once it is sealed.
//!
//! ```text
//! 0        64                                records_end                    end of file
//! | header | record | record | mark | record | footer: ranges ... | trailer |
//! ```
//! A segment without a footer is *active*: only its tail may be torn. A footer is written after the
//! records before it were synced, so damage in a sealed segment is never a torn tail.
//!
//! Not here: the bytes of a record (`brickyard_types::record`), writing (`append.rs`, `sync.rs`).

pub(crate) mod footer;
pub(crate) mod header;
pub(crate) mod mark;
pub(crate) mod range;
pub(crate) mod scanner;

use crate::disk::{Access, Disk};
use crate::mem_disk::MemDisk;
use brickyard_types::record::Record;
use scanner::{Found, Scanner};

/// Goes through bytes as the records of an active segment and returns how many of them could not be
/// read; for fuzzing and tools.
pub fn scan_bytes(bytes: &[u8], visit: &mut dyn FnMut(u32, Record<'_>)) -> u64 {
    let disk = MemDisk::new(0);
    disk.put("bytes", bytes);
    let Ok(file) = disk.open("bytes", Access::Read) else {
        return 0;
    };
    let mut scanner = Scanner::active(&file, 0, bytes.len() as u64);
    let mut unreadable = 0;
    while let Ok(Some(found)) = scanner.next() {
        match found {
            Found::Record { offset, record, .. } => visit(offset, record),
            Found::Damage(found) | Found::Tail(found) => unreadable += u64::from(found.len),
            Found::Synced(_) | Found::End { .. } | Found::Footer { .. } => {}
        }
    }
    unreadable
}
