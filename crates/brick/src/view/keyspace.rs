//! The trait through which commands read and write.

use super::newest::{Newest, newest};
use super::write::NOTHING;
use super::{ColdWanted, View, error};
use crate::gather::REPLY_TOO_LONG;
use crate::lease_gate::{grant, may_write};
use crate::refusal::{EARLIER_NODE, EARLIER_NODE_SLOTS};
use brickyard_command::hash::has_due;
use brickyard_command::{ErrorReply, Failure, KeyValue, Keyspace, NewValue, Probe};
use brickyard_metadata::Level;
use brickyard_routing::Location;
use brickyard_table::KeyHash;
use brickyard_types::part::{PartName, is_reserved, owner_of};
use brickyard_types::record::Kind;
use brickyard_types::{PartitionId, UnixMillis, ValueType};

/// A client's key that looks like a name of a part.
const RESERVED: ErrorReply = ErrorReply::constant(
    "ERR this key begins with eight bytes that are kept for parts of large hashes; use another key",
);

/// Bytes of values that any command may read; past that the settings are asked.
const READ_BYTES_FREE: usize = 1 << 20;

impl Keyspace for View<'_> {
    #[inline]
    fn now(&self) -> UnixMillis {
        self.core.unix
    }

    #[inline]
    fn value_bytes_max(&self) -> usize {
        self.core.shared.limits.value_bytes_max
    }

    #[inline]
    fn read_any(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        if self.may_have_parts()
            && let Some(head) = self.head_at(key)?
        {
            return self.read_whole(key, head).map(Some);
        }
        self.read_stored(key)
    }

    #[inline]
    fn read_stored(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        if is_reserved(key) {
            return Ok(None);
        }
        self.read_record(key, true)
    }

    fn whole_bytes_max(&self, key: &[u8]) -> Option<usize> {
        self.hash_whole_bytes_max(key)
    }

    fn has_timed_parts(&self) -> bool {
        self.core.shared.lowest_level.has(Level::TIMED_PARTS)
    }

    fn next_value(&self) -> u64 {
        self.partition().op.next().0
    }

    fn read_part(&mut self, part: PartName<'_>) -> Result<&[u8], Failure> {
        match self.read_record(&part.encode(), false)? {
            Some(record) => Ok(record.value),
            None => Err(ErrorReply::no_part(part).into()),
        }
    }

    fn put_part(&mut self, part: PartName<'_>, value: &[u8]) -> Result<(), Failure> {
        self.stage_part(part, Some(value))
    }

    fn delete_part(&mut self, part: PartName<'_>) -> Result<(), Failure> {
        self.stage_part(part, None)
    }

    #[inline]
    fn probe(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure> {
        if is_reserved(key) {
            return Ok(None);
        }
        let location = self.locate(key);
        let Self {
            core,
            place,
            context,
            values,
            read_set,
            expired,
            locked,
            is_unsettled,
            reads,
            ..
        } = self;
        match newest(core, *place, *context, values, key, location, read_set) {
            Newest::None => {
                reads.misses += 1;
                Ok(None)
            }
            Newest::Expired => {
                reads.misses += 1;
                note_expired(expired, location, key);
                Ok(None)
            }
            // Rule `reads of several keys see one moment`: of several keys each is waited for, not only the first.
            Newest::Unsettled => {
                *is_unsettled = true;
                Err(Failure::Suspend)
            }
            Newest::Damaged { partition, table } => Err(damaged(partition, table)),
            Newest::Hot {
                value_type: ValueType::Intent,
                ..
            }
            | Newest::Cold {
                value_type: ValueType::Intent,
                ..
            } if !context.sees_intents => {
                locked.push(key.to_vec());
                Err(Failure::Suspend)
            }
            Newest::Hot {
                value,
                expires_at,
                op,
                value_type,
            } => {
                reads.hits += 1;
                Ok(Some(Probe {
                    value_len: value.len(),
                    expires_at,
                    op,
                    value_type,
                }))
            }
            Newest::Cold {
                op,
                expires_at,
                value_type,
                len,
                ..
            } => {
                reads.hits += 1;
                Ok(Some(Probe {
                    value_len: len as usize,
                    expires_at,
                    op,
                    value_type,
                }))
            }
        }
    }

    fn put(&mut self, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        if is_reserved(key) {
            return Err(Failure::Error(RESERVED));
        }
        if put.value_type == ValueType::Hash && !self.core.shared.lowest_level.has(Level::HASHES) {
            return Err(Failure::Error(EARLIER_NODE));
        }
        if put.value_type == ValueType::Intent
            && !self.core.shared.lowest_level.has(Level::TRANSACTIONS)
        {
            return Err(Failure::Error(EARLIER_NODE_SLOTS));
        }
        let location = self.locate(key);
        self.check_lock(key, location)?;
        self.check_put(key, put.value.iter().map(|piece| piece.len()).sum())?;
        self.recall_copies(key)?;
        self.await_leases(key)?;
        if self.context.writes_many {
            self.core
                .workshop
                .staging
                .push(location, Kind::Put, key, &put);
        } else {
            assert!(
                !self.has_written,
                "a command that writes more than once must say so"
            );
            self.write(location, Kind::Put, key, &put);
        }
        self.tell(Kind::Put, key, put.expires_at.is_some());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        if self.probe(key)?.is_none() {
            return Ok(false);
        }
        let location = self.locate(key);
        self.check_lock(key, location)?;
        self.recall_copies(key)?;
        self.await_leases(key)?;
        if self.context.writes_many {
            self.core
                .workshop
                .staging
                .push(location, Kind::Delete, key, &NOTHING);
        } else {
            self.write(location, Kind::Delete, key, &NOTHING);
        }
        self.tell(Kind::Delete, key, false);
        Ok(true)
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.reads.bytes += bytes;
        if self.reads.bytes > self.context.values_max {
            self.reads_past_room = true;
            return Err(Failure::Suspend);
        }
        if self.reads_too_much() {
            return Err(Failure::Error(REPLY_TOO_LONG));
        }
        Ok(())
    }

    fn lease(&mut self, key: &[u8], expires_at: Option<UnixMillis>) -> u64 {
        let at = (self.place.table, self.place.leaf);
        match self.reads.lessee {
            // What is found expired goes now, and would wait for it.
            Some(client) if self.expired.is_empty() => {
                grant(self.core, (at, key), client, expires_at)
            }
            _ => 0,
        }
    }

    fn random(&mut self) -> u64 {
        self.core.random.next()
    }

    fn database(&self) -> Option<u16> {
        self.state().database()
    }

    fn memory_bytes(&mut self, key: &[u8]) -> Result<Option<usize>, Failure> {
        let Some(probe) = self.probe(key)? else {
            return Ok(None);
        };
        let head = match self.may_have_parts() {
            true => self.head_at(key)?,
            false => None,
        };
        if let Some(head) = head {
            return Ok(Some(self.parts_memory(key, &head)));
        }
        let bytes = self.record_memory(key);
        // A value that has not committed has no record yet.
        Ok(Some(bytes.unwrap_or(key.len() + probe.value_len)))
    }
}

impl View<'_> {
    /// What the record of that name holds, which is that of a key, or a part of a key's value.
    #[inline]
    pub(super) fn read_record(
        &mut self,
        key: &[u8],
        is_key: bool,
    ) -> Result<Option<KeyValue<'_>>, Failure> {
        if self.reads.bytes > READ_BYTES_FREE && self.reads_too_much() {
            return Err(Failure::Error(REPLY_TOO_LONG));
        }
        let location = self.locate(key);
        let now = self.core.unix;
        let Self {
            core,
            place,
            context,
            values,
            read_set,
            wanted,
            expired,
            locked,
            is_unsettled,
            reads_past_room,
            reads,
            ..
        } = self;
        match newest(core, *place, *context, values, key, location, read_set) {
            Newest::Hot {
                value_type: ValueType::Intent,
                ..
            } if !context.sees_intents => {
                locked.push(key.to_vec());
                Err(Failure::Suspend)
            }
            Newest::Hot {
                value,
                expires_at,
                op,
                value_type,
            } => {
                reads.hits += u64::from(is_key);
                reads.bytes += value.len();
                if reads.bytes > context.values_max {
                    *reads_past_room = true;
                    return Err(Failure::Suspend);
                }
                if value_type == ValueType::Hash && has_due(value, now) {
                    // What is over of it goes, as a key does whose time is over.
                    note_expired(expired, location, key);
                }
                Ok(Some(KeyValue {
                    value,
                    expires_at,
                    op,
                    value_type,
                }))
            }
            Newest::None => {
                reads.misses += u64::from(is_key);
                Ok(None)
            }
            Newest::Expired => {
                reads.misses += u64::from(is_key);
                note_expired(expired, location, key);
                Ok(None)
            }
            // Rule `reads of several keys see one moment`: of several keys each is waited for, not only the first.
            Newest::Unsettled => {
                *is_unsettled = true;
                Err(Failure::Suspend)
            }
            Newest::Damaged { partition, table } => Err(damaged(partition, table)),
            Newest::Cold {
                value_type: ValueType::Intent,
                ..
            } if !context.sees_intents => {
                locked.push(key.to_vec());
                Err(Failure::Suspend)
            }
            Newest::Cold {
                op, len, position, ..
            } => {
                reads.bytes += len as usize;
                if reads.bytes > context.values_max {
                    *reads_past_room = true;
                    return Err(Failure::Suspend);
                }
                wanted.push(ColdWanted {
                    place: *place,
                    hash: KeyHash(location.key_hash),
                    name: key.to_vec(),
                    op,
                    position,
                    value_len: len,
                });
                Err(Failure::Suspend)
            }
        }
    }

    /// Rule `copies are recalled before a write`: what clients keep of the key is theirs no more when it is written.
    #[inline]
    fn recall_copies(&mut self, key: &[u8]) -> Result<(), Failure> {
        if self.core.holders.is_empty() {
            return Ok(());
        }
        self.recall_copies_now(key)
    }

    #[cold]
    fn recall_copies_now(&mut self, key: &[u8]) -> Result<(), Failure> {
        let (table, writer) = (self.table_id(), self.context.writer.0);
        let core = &mut *self.core;
        if core.holders.recall(table, key, writer, core.now) {
            return Ok(());
        }
        self.is_recalling = true;
        match self.context.writes_many {
            // What is staged will not be written, and other keys are recalled meanwhile.
            true => Ok(()),
            false => Err(Failure::Suspend),
        }
    }

    /// Rules `a write waits for leases` and `leases end before another writes`.
    #[inline]
    fn await_leases(&mut self, key: &[u8]) -> Result<(), Failure> {
        if !self.state().attributes.leases.may_be_out() {
            return Ok(());
        }
        self.await_leases_now(key)
    }

    #[cold]
    fn await_leases_now(&mut self, key: &[u8]) -> Result<(), Failure> {
        let at = (self.place.table, self.place.leaf);
        if may_write(self.core, (at, key)) {
            return Ok(());
        }
        self.is_recalling = true;
        match self.context.writes_many {
            // As for copies.
            true => Ok(()),
            false => Err(Failure::Suspend),
        }
    }

    /// The same for what the command found expired, and is about to remove.
    #[inline]
    pub(super) fn await_leases_of_expired(&mut self) {
        let may_be_out = !self.expired.is_empty() && self.state().attributes.leases.may_be_out();
        // A copy asks the primary.
        if may_be_out && self.partition().is_primary() {
            let at = (self.place.table, self.place.leaf);
            let Self {
                core,
                expired,
                is_recalling,
                ..
            } = self;
            for (_, key) in expired {
                *is_recalling |= !may_write(core, (at, owner_of(key)));
            }
        }
    }

    /// A write that has read nothing must not take the place of an intent all the same; and none comes before a transaction that
    /// has reserved the key.
    #[inline]
    fn check_lock(&mut self, key: &[u8], location: Location) -> Result<(), Failure> {
        let may_have_one = self.core.log.has_intents()
            || self.state().table.intents() > 0
            || !self.core.requests.distributed.reserved.is_empty();
        if may_have_one && !self.context.sees_intents {
            return self.check_lock_now(key, location);
        }
        Ok(())
    }

    #[cold]
    fn check_lock_now(&mut self, key: &[u8], location: Location) -> Result<(), Failure> {
        let (table, now) = (self.table_id(), self.core.now);
        if self.core.requests.distributed.reserved.has(table, key, now) {
            self.locked.push(key.to_vec());
            return Err(Failure::Suspend);
        }
        let Self {
            core,
            place,
            context,
            values,
            read_set,
            locked,
            is_unsettled,
            ..
        } = self;
        match newest(core, *place, *context, values, key, location, read_set) {
            Newest::Hot {
                value_type: ValueType::Intent,
                ..
            }
            | Newest::Cold {
                value_type: ValueType::Intent,
                ..
            } => {
                locked.push(key.to_vec());
                Err(Failure::Suspend)
            }
            Newest::Unsettled => {
                *is_unsettled = true;
                Err(Failure::Suspend)
            }
            _ => Ok(()),
        }
    }
}

#[cold]
fn damaged(partition: PartitionId, table: &str) -> Failure {
    error(format!(
        "DAMAGED partition {partition} of table '{table}' may have lost a write to this key, since its \
         log is damaged (INFO persistence says where). SET the key anew, or stop the node and run \
         \"brickyard inspect\""
    ))
}

fn note_expired(expired: &mut Vec<(Location, Vec<u8>)>, location: Location, key: &[u8]) {
    // One that is named twice is removed once: the second removal finds the first.
    if expired.last().is_none_or(|(_, name)| name != key) {
        expired.push((location, key.to_vec()));
    }
}
