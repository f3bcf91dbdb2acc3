//! Hint files: a sealed segment's records without the values of their keys (Bitcask's word and idea).
//!
//! A restart that needs no values (medium `disk`) reads these instead of the segments. A hint file is
//! only ever a shortcut: if it is missing, damaged or of another format, the segment is scanned.
//!
//! ```text
//! header, 64 bytes          entries, back to back, ascending by offset
//!  0  8 bytes  magic "BRKYHINT"        0 u32 offset in the segment
//!  8  u32      format, 1       4 u32 value_len (a batch: of all its entries as stored)
//! 12  u32      segment                 8 u16 key_len
//! 16  u32      records_end             10 u8 kind   11 u8 flags
//! 20  u32      CRC-32 of the entries   12 u32 table   16 u32 partition   20 u32 view
//! 24  u64      number of entries       24 u64 op      32 u64 expires_at_ms
//! 32  u64      bytes of the entries    40 [client u64, sequence u64 if flag 4]
//! 40 20 bytes  0                          [origin u32 if flag 8] [committed u64 if flag 16] key
//! 60  u32      CRC-32 of bytes 0..60      a batch instead of a key: u32 length, then its entries
//!                                         without values (16 bytes of header and the key each)
//!                                         kinds 6 to 9 behind the key: the value
//! ```
//! The fields from `flags` on have the meaning that they have in a record.

mod entry;
mod job;
mod reader;
mod writer;

pub use entry::{HintEntry, HintRecord};
pub use job::HintJob;
pub(crate) use reader::Hints;
pub use reader::read_hints;
pub(crate) use writer::HintWriter;

pub(crate) const HINT_MAGIC: [u8; 8] = *b"BRKYHINT";

/// Bytes of an entry before what depends on its flags.
pub(crate) const HINT_ENTRY_BYTES: usize = 40;

#[cfg(test)]
#[path = "hint_test.rs"]
mod hint_test;
