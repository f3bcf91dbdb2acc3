//! Hashes in parts, as commands see and change them.
//!
//! In:  heads, names of parts. Out: a hash as one value; parts that are staged; parts that belong to nothing any more, removed, and fields whose time is over.
//!
//! Invariants:
//! - A head and its parts are staged together, so they are one record (rule `a head speaks of parts that are there`).
//! - Where somebody wants to be told each change of a hash as a whole, or keys go by themselves for want of room, hashes are one
//!   record each: a change that is told is whole, and so is what goes.

use super::View;
use super::due::removing;
use super::write::NOTHING;
use brickyard_command::hash::{Head, Whole, drop_due, prune};
use brickyard_command::{ErrorReply, Failure, KeyValue, Keyspace, NewValue};
use brickyard_metadata::Level;
use brickyard_table::KeyHash;
use brickyard_types::part::PartName;
use brickyard_types::record::Kind;
use brickyard_types::{Eviction, Op, UnixMillis, ValueType};
use std::collections::BTreeMap;

/// A longer key has hashes of one record: each part has the key in its name.
const KEY_BYTES_MAX: usize = 256;

/// The head of a key's hash, and what its record has besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headed {
    pub(super) head: Head,
    expires_at: Option<UnixMillis>,
    op: Op,
}

impl View<'_> {
    /// Whether any hash of this table may be in parts.
    #[inline]
    pub(super) fn may_have_parts(&self) -> bool {
        self.core.log.has_hashes()
            || self.state().table.parts() > 0
            || self.context.writes_many && self.core.workshop.staging.len() > 0
    }

    /// The head of the hash at the key, if it is in parts.
    pub(super) fn head_at(&mut self, key: &[u8]) -> Result<Option<Headed>, Failure> {
        let (hits, misses, bytes) = (self.reads.hits, self.reads.misses, self.reads.bytes);
        let headed = self.read_stored(key)?.and_then(|it| {
            let is_hash = it.value_type == ValueType::Hash;
            Some(Headed {
                head: Head::read(it.value).filter(|_| is_hash)?,
                expires_at: it.expires_at,
                op: it.op,
            })
        });
        if headed.is_none() {
            // It is read once more, as what it is.
            (self.reads.hits, self.reads.misses, self.reads.bytes) = (hits, misses, bytes);
        }
        Ok(headed)
    }

    /// The hash of that head as one value.
    pub(super) fn read_whole(
        &mut self,
        key: &[u8],
        headed: Headed,
    ) -> Result<KeyValue<'_>, Failure> {
        let Headed {
            head,
            expires_at,
            op,
        } = headed;
        let mut whole = Whole::new(head);
        let mut is_suspended = false;
        for number in 0..head.parts {
            match self.read_part(head.part(key, number)) {
                Ok(part) => whole.add(part)?,
                // All that it needs is read at once.
                Err(Failure::Suspend) => is_suspended = true,
                Err(error) => return Err(error),
            }
        }
        if is_suspended {
            return Err(Failure::Suspend);
        }
        self.core.workshop.whole = whole.finish()?;
        Ok(KeyValue {
            value: &self.core.workshop.whole,
            expires_at,
            op,
            value_type: ValueType::Hash,
        })
    }

    /// Bytes up to which a hash at `key` is one record; `None`: however many.
    pub(super) fn hash_whole_bytes_max(&self, key: &[u8]) -> Option<usize> {
        let shared = &self.core.shared;
        let state = self.state();
        let has_parts = key.len() <= KEY_BYTES_MAX
            && !state.keeps_changes()
            && state.attributes.evict == Eviction::None
            && shared.lowest_level.has(Level::HASH_PARTS);
        has_parts.then_some(shared.limits.hash_whole_bytes_max)
    }

    /// A part is to have this value, or to go.
    pub(super) fn stage_part(
        &mut self,
        part: PartName<'_>,
        value: Option<&[u8]>,
    ) -> Result<(), Failure> {
        assert!(
            self.context.writes_many || !self.has_written,
            "a part comes before the key that it belongs to"
        );
        // The key's own record is to come.
        self.context.writes_many = true;
        let name = part.encode();
        let location = self.locate(&name);
        if location.leaf != self.known.1.leaf {
            return Err(ErrorReply::no_part(part).into());
        }
        if let Some(value) = value {
            self.check_put(&name, value.len())?;
            let put = NewValue {
                value: &[value],
                expires_at: None,
                value_type: ValueType::Hash,
            };
            let staging = &mut self.core.workshop.staging;
            staging.push(location, Kind::Put, &name, &put);
        } else {
            let staging = &mut self.core.workshop.staging;
            staging.push(location, Kind::Delete, &name, &NOTHING);
        }
        Ok(())
    }

    /// Stages the removal of a part that belongs to nothing any more, if it is there; whether it is.
    pub(crate) fn remove_part(&mut self, name: &[u8]) -> bool {
        let location = self.locate(name);
        let partition = self.partition();
        let (local, is_cleared) = (partition.local, partition.clear.is_some());
        let hash = KeyHash(location.key_hash);
        let found = self.state().table.peek(local, hash, name);
        // What the log has lost may be its head, which is no older than it is, and may be copied back.
        let gaps = &partition.gaps;
        let is_sure = |op: Op| !gaps.reach(op);
        let is_there = !is_cleared && found.is_some_and(|found| is_sure(found.op));
        if is_there {
            let staging = &mut self.core.workshop.staging;
            staging.push(location, Kind::Delete, name, &NOTHING);
        }
        is_there
    }

    /// Stages the removal of what is over in these parts. False: it is not known yet what they hold.
    pub(super) fn drop_due_of(&mut self, names: &[Vec<u8>]) -> bool {
        let mut by_key: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
        for part in names.iter().filter_map(|name| PartName::decode(name)) {
            by_key.entry(part.key).or_default().push(part.number);
        }
        let mut is_known = true;
        for (key, numbers) in by_key {
            let removed = removing(self, |it| drop_due(it, key, numbers.into_iter()));
            // What is refused (there is no room for the record) stays hidden, and goes in another round.
            is_known &= removed != Err(Failure::Suspend);
        }
        is_known
    }

    /// Stages the removal of what is over in some parts of the hash at `key`; whether there is more to do.
    pub(crate) fn prune(&mut self, key: &[u8], parts_max: u32) -> Result<bool, Failure> {
        removing(self, |it| prune(it, key, parts_max))
    }

    /// Bytes of memory of a key's record.
    pub(super) fn record_memory(&self, name: &[u8]) -> Option<usize> {
        let hash = KeyHash(self.locate(name).key_hash);
        let local = self.partition().local;
        self.state().table.record_memory(local, hash, name)
    }

    /// The same of a key whose hash is in parts.
    pub(super) fn parts_memory(&self, key: &[u8], headed: &Headed) -> usize {
        let head = &headed.head;
        let parts = (0..head.parts).map(|number| head.part(key, number).encode());
        let parts = parts.map(|name| self.record_memory(&name).unwrap_or(0));
        self.record_memory(key).unwrap_or(0) + parts.sum::<usize>()
    }
}
