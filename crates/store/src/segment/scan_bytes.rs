//! Bytes read as a segment's records, for fuzzing and tests.

use super::scanner::{Found, Scanner};
use crate::disk::{Access, Disk};
use crate::mem_disk::MemDisk;
use brickyard_types::record::Record;

/// Goes through bytes as the records of an active segment and returns how many of them could not be
/// read.
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
            Found::Damage(found) | Found::Tail(found) | Found::Unwritten(found) => {
                unreadable += u64::from(found.len);
            }
            Found::Synced(_) | Found::End { .. } | Found::Footer { .. } => {}
        }
    }
    unreadable
}
