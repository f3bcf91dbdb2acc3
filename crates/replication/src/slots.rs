//! Partitions by a dense index, so that the work of a turn walks arrays.

use crate::partition::Partition;
use brickyard_types::{PartitionHasher, PartitionId, TableId, View};
use hashbrown::HashMap;
use std::hash::BuildHasherDefault;

/// All partitions that this brick knows.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<Option<Partition>>,
    free: Vec<u32>,
    index: HashMap<PartitionId, u32, BuildHasherDefault<PartitionHasher>>,
    /// What was acknowledged of partitions that are gone: it binds as long as the incarnation lives
    /// (rule `acknowledged views are remembered`). The first is `stopped`, the second `accepted`.
    gone: HashMap<PartitionId, (View, View), BuildHasherDefault<PartitionHasher>>,
}

impl Slots {
    #[inline]
    pub(crate) fn find(&self, id: PartitionId) -> Option<u32> {
        self.index.get(&id).copied()
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Partition> {
        self.slots.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Partition> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn by_id(&self, id: PartitionId) -> Option<&Partition> {
        self.get(self.find(id)?)
    }

    /// The partition of that id.
    #[inline]
    pub(crate) fn by_id_mut(&mut self, id: PartitionId) -> Option<&mut Partition> {
        self.get_mut(self.find(id)?)
    }

    /// The partition of that id, made if there is none.
    pub(crate) fn obtain(&mut self, id: PartitionId, table: TableId) -> &mut Partition {
        let slot = self.find_or_add(id, table);
        let partition = self.slots[slot as usize].as_mut();
        partition.expect("a slot that was just filled")
    }

    fn find_or_add(&mut self, id: PartitionId, table: TableId) -> u32 {
        if let Some(slot) = self.find(id) {
            return slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        assert!(self.slots[slot as usize].is_none(), "slot {slot} is in use");
        let mut partition = Partition::new(slot, id, table);
        if let Some((stopped, accepted)) = self.gone.get(&id) {
            partition.place.stopped = *stopped;
            partition.place.accepted = *accepted;
        }
        self.slots[slot as usize] = Some(partition);
        self.index.insert(id, slot);
        slot
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<Partition> {
        let partition = self.slots.get_mut(slot as usize)?.take()?;
        assert_eq!(partition.slot, slot, "a partition in another's place");
        self.index.remove(&partition.id);
        // Rule `acknowledged views are remembered`: kept past the partition itself.
        let place = &partition.place;
        let stopped = place.stopped.max(place.view);
        self.gone.insert(partition.id, (stopped, place.accepted));
        self.free.push(slot);
        Some(partition)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Partition> {
        self.slots.iter_mut().flatten()
    }

    /// All partitions, for what happens rarely.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Partition> {
        self.slots.iter().flatten()
    }
}
