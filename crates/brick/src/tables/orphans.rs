//! Parts of hashes that belong to nothing any more, as far as they are known.
//!
//! In:  records of keys that make way. Out: values whose parts are to be removed.
//!
//! A replica notes them as it applies operations, and the primary removes them (`orphans.rs`). What is not noted, or forgotten, is found
//! by the walk over all records.

use super::TableState;
use brickyard_command::hash::Head;
use brickyard_table::{KeyHash, LocalPartition, TableData, ValueRef};
use brickyard_types::ValueType;
use brickyard_types::part::{PartName, is_part};
use std::collections::VecDeque;

/// Values of which the parts are remembered; of more the walk finds them.
const REMEMBERED_MAX: usize = 1_024;

/// A value that is no more, and has parts.
#[derive(Debug)]
pub(crate) struct Orphaned {
    pub(crate) key: Vec<u8>,
    pub(crate) head: Head,
    /// Parts before this one are gone.
    pub(crate) next: u32,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Orphans(VecDeque<Orphaned>);

impl Orphans {
    pub(crate) fn push(&mut self, orphaned: Orphaned) {
        if self.0.len() < REMEMBERED_MAX {
            self.0.push_back(orphaned);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Orphaned> {
        self.0.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TableState {
    /// The record of a key is about to make way for `after`; `None`: it goes.
    #[inline]
    pub(crate) fn note_end_of_value(
        &mut self,
        (partition, hash): (LocalPartition, KeyHash),
        key: &[u8],
        after: Option<(ValueType, &[u8])>,
    ) {
        if self.table.parts() > 0 {
            self.note_end_now((partition, hash), key, after);
        }
    }

    #[cold]
    fn note_end_now(
        &mut self,
        (partition, hash): (LocalPartition, KeyHash),
        key: &[u8],
        after: Option<(ValueType, &[u8])>,
    ) {
        if is_part(key) {
            return;
        }
        let Some(head) = head_of(&self.table, (partition, hash), key) else {
            return;
        };
        let lives_on = match after {
            // It may come back.
            Some((ValueType::Intent, _)) => true,
            Some((ValueType::Hash, value)) => {
                Head::read(value).is_some_and(|it| it.value == head.value)
            }
            _ => false,
        };
        if !lives_on {
            self.room.orphans.push(Orphaned {
                key: key.to_vec(),
                head,
                next: 0,
            });
        }
    }

    /// Whether a part is of no value that there is.
    pub(crate) fn is_orphan(&self, partition: LocalPartition, part: &PartName<'_>) -> bool {
        is_orphan(&self.table, partition, part)
    }
}

/// The head of the hash that a key has, as far as it is in memory.
fn head_of(
    table: &TableData,
    (partition, hash): (LocalPartition, KeyHash),
    key: &[u8],
) -> Option<Head> {
    let found = table.peek(partition, hash, key)?;
    match found.value {
        ValueRef::Hot(value) if found.value_type == ValueType::Hash => Head::read(value),
        _ => None,
    }
}

/// As [`TableState::is_orphan`].
pub(crate) fn is_orphan(table: &TableData, partition: LocalPartition, part: &PartName<'_>) -> bool {
    let Some(found) = table.peek(partition, table.hash(part.key), part.key) else {
        return true;
    };
    match (found.value_type, found.value) {
        // What it held may come back.
        (ValueType::Intent, _) => false,
        (ValueType::Hash, ValueRef::Hot(value)) => {
            let is_of = |head: Head| head.value == part.value && part.number < head.parts;
            !Head::read(value).is_some_and(is_of)
        }
        // It is in the log alone, and may be a head.
        (ValueType::Hash, ValueRef::Cold { len }) => !Head::may_have(len),
        (ValueType::String | ValueType::BuiltString, _) => true,
    }
}
