//! Making room: a clock hand over the arena that finds records which were not used lately.
//!
//! In:  calls while the table is over its bound. Out: values dropped from memory (medium `disk`),
//!      or keys that the caller should remove (medium `ram`).
//!
//! The hand passes over the records in the order in which they lie. One that was read or written
//! since it last passed loses its mark and stays; one that was not goes. That is the clock
//! algorithm (Corbató, 1968): close to least recently used, for one bit a record and no list.

use crate::contents::Contents;
use crate::hash::KeyHash;
use crate::id::LocalPartition;
use crate::record::State;
use brickyard_types::Op;
use brickyard_types::part::is_part;

/// A record that was not used lately, of a table of medium `ram`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim<'a> {
    /// Its partition.
    pub partition: LocalPartition,
    /// Its key's hash.
    pub hash: KeyHash,
    /// Its key.
    pub key: &'a [u8],
    /// The op that wrote it.
    pub op: Op,
    /// Bytes that the table's memory falls by when it is removed.
    pub bytes: usize,
}

/// As [`crate::TableData::evict_step`].
pub(crate) fn evict(
    contents: &mut Contents,
    records_max: usize,
    mut on_victim: impl FnMut(Victim<'_>),
) -> usize {
    let mut freed = 0;
    // No more than there are, so that none is reported twice at once.
    for _ in 0..records_max.min(contents.counts().records() as usize) {
        let Some((reference, header)) = contents.next_under_hand() else {
            break;
        };
        if header.is_referenced() {
            contents.mark(reference, false);
            continue;
        }
        let records = contents.records();
        let hash = records.hash_of(records.key(reference, header));
        // Records that were set aside are in no partition.
        let Some(located) = contents.locate(reference, header, hash) else {
            continue;
        };
        if records.have_offsets() {
            let live_before = records.arena().live();
            // A record too large to shrink in place stays hot when there is no room beside it.
            if let Ok(true) = contents.cool(&located) {
                let live = contents.records().arena().live();
                assert!(live <= live_before, "a value was dropped, and memory grew");
                freed += live_before - live;
            }
        } else if header.state() == State::Hot && !is_part(records.key(reference, header)) {
            // A part goes when its key has gone. It counts as used until the hand comes again, by when the removal has committed.
            contents.mark(reference, true);
            let bytes = contents.records().size(header);
            freed += bytes;
            on_victim(Victim {
                partition: header.partition(),
                hash,
                key: contents.records().key(reference, header),
                op: header.op(),
                bytes,
            });
        }
    }
    freed
}

#[cfg(test)]
#[path = "evict_test.rs"]
mod evict_test;
