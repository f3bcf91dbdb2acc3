//! Looking up what a key will hold: the newest prepared operation on it.

use super::{Class, KeyRef, Log, Newest, Prepared, Writer, dependency};
use crate::append::BatchId;
use crate::output::CommitDependency;
use brickyard_table::LocalPartition;
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId};

/// A prepared operation and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) value: &'a [u8],
    /// What a reply that was decided against it waits for.
    pub(crate) dependency: CommitDependency,
    pub(crate) writer: Writer,
    /// Its client was told that nobody knows: the commit dependency counts as met, and says nothing.
    pub(crate) is_given_up: bool,
}

const CLASSES: [Class; 3] = [Class::Copied, Class::Logged, Class::Unlogged];

impl Log {
    /// The newest prepared operation on the key, if there is one. `partition` is the key's, for the commit dependency.
    #[inline]
    pub(crate) fn pending(
        &self,
        key: KeyRef,
        partition: PartitionId,
        name: &[u8],
    ) -> Option<Pending<'_>> {
        if self.newest.is_empty() {
            return None;
        }
        let newest = self.newest.get(&key)?;
        let found = self.find(newest, partition, name);
        // Two keys with one 64-bit hash are prepared at once: rare enough for a walk.
        found.or_else(|| self.walk(key, partition, name))
    }

    /// A writer decides something against the newest operation on the key.
    pub(crate) fn join(&mut self, key: KeyRef, writer: Writer) {
        if let Some(newest) = self.newest.get_mut(&key)
            && newest.writer != writer
        {
            newest.writer = Writer::MANY;
        }
    }

    fn find(&self, newest: &Newest, partition: PartitionId, name: &[u8]) -> Option<Pending<'_>> {
        let (bytes, list) = self.batch(newest.batch, newest.class)?;
        let prepared = list.get(newest.index as usize)?;
        let dependency = dependency(newest.origin, partition);
        let found = pending_in(bytes, prepared, name, dependency, newest.writer)?;
        Some(Pending {
            is_given_up: self.has_given_up(newest.origin),
            ..found
        })
    }

    /// Whether the batch's clients were told that nobody knows of its replicated operations.
    pub(crate) fn has_given_up(&self, id: BatchId) -> bool {
        let batch = self.index(id).and_then(|at| self.in_flight.get(at));
        batch.is_some_and(|batch| batch.is_given_up)
    }

    /// A batch's bytes and its operations of one class.
    pub(super) fn batch(&self, id: BatchId, class: Class) -> Option<(&[u8], &[Prepared])> {
        if id == self.building.id {
            let bytes = match class {
                Class::Unlogged => &self.building.unlogged,
                _ => &self.building.bytes,
            };
            return Some((bytes, self.building.lists.of(class)));
        }
        let batch = self.in_flight.get(self.index(id)?)?;
        let bytes = match class {
            Class::Unlogged => &batch.unlogged,
            _ => &*batch.bytes,
        };
        Some((bytes, batch.lists.of(class)))
    }

    /// Batches in flight are few and sorted; their numbers have gaps where one is done before others.
    pub(super) fn index(&self, id: BatchId) -> Option<usize> {
        let first = self.in_flight.front()?.id;
        let guess = usize::try_from(id.0.checked_sub(first.0)?).ok()?;
        match self.in_flight.get(guess) {
            Some(batch) if batch.id == id => Some(guess),
            _ => self
                .in_flight
                .binary_search_by_key(&id, |batch| batch.id)
                .ok(),
        }
    }

    fn walk(&self, key: KeyRef, partition: PartitionId, name: &[u8]) -> Option<Pending<'_>> {
        let in_flight = self.in_flight.iter().rev().map(|batch| batch.id);
        let batches = std::iter::once(self.building.id).chain(in_flight);
        batches
            .flat_map(|id| CLASSES.map(|class| (id, class)))
            .find_map(|(id, class)| {
                let (bytes, list) = self.batch(id, class)?;
                let mut of_key = list.iter().rev().filter(|prepared| prepared.key == key);
                of_key.find_map(|prepared| {
                    let origin = self.unsettled_since(id, class, prepared)?;
                    let dependency = dependency(origin, partition);
                    let found = pending_in(bytes, prepared, name, dependency, Writer::MANY)?;
                    Some(Pending {
                        is_given_up: self.has_given_up(origin),
                        ..found
                    })
                })
            })
    }

    /// The batch that replies wait for which rest on an operation, if that still waits. Lists of those that are voted for
    /// keep what has committed until their batch goes.
    fn unsettled_since(&self, id: BatchId, class: Class, prepared: &Prepared) -> Option<BatchId> {
        match class {
            Class::Copied => Some(id),
            Class::Logged | Class::Unlogged => self.origin_of(id, class, prepared),
        }
    }

    /// The newest clear of a partition that has not committed, with what a reply waits for that was
    /// decided against it.
    pub(crate) fn pending_clear(
        &self,
        table: u32,
        partition: LocalPartition,
        id: PartitionId,
    ) -> Option<(Op, CommitDependency)> {
        let is_it = |it: &&Prepared| {
            it.kind == Kind::Clear && it.key.table == table && it.key.partition == partition
        };
        let in_flight = self.in_flight.iter().map(|batch| (batch.id, &batch.lists));
        let batches = in_flight.chain([(self.building.id, &self.building.lists)]);
        let clears = batches.flat_map(|(batch, lists)| {
            CLASSES.into_iter().flat_map(move |class| {
                let list = lists.of(class).iter().filter(is_it);
                list.filter(|it| !it.is_void).filter_map(move |clear| {
                    let origin = self.unsettled_since(batch, class, clear)?;
                    Some((clear.op, dependency(origin, id)))
                })
            })
        });
        clears.max_by_key(|(op, _)| *op)
    }
}

fn pending_in<'a>(
    bytes: &'a [u8],
    prepared: &'a Prepared,
    name: &[u8],
    dependency: CommitDependency,
    writer: Writer,
) -> Option<Pending<'a>> {
    let key_at = prepared.key_at as usize;
    let key = bytes.get(key_at..key_at + usize::from(prepared.key_len))?;
    if key != name {
        return None;
    }
    let value_at = prepared.value_at as usize;
    let value = bytes.get(value_at..value_at + prepared.value_len as usize)?;
    Some(Pending {
        prepared,
        value,
        dependency,
        writer,
        is_given_up: false,
    })
}
