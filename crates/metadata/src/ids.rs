//! Ids and incarnations that were not given out yet.
//!
//! In: how many are needed. Out: ids that nothing ever had, or a [`Refusal`] when there are no more.
//!
//! Invariants:
//! - An id or incarnation is given out once in a cluster's life.
//! - 0 is no id of a table or partition and no incarnation: it stands for "none" in records, statistics and replicas.

use crate::refusal::Refusal;
use brickyard_routing::{MapError, NodeId};
use brickyard_types::{Incarnation, PartitionId, TableId};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ids {
    next_table: u32,
    next_partition: u32,
    next_node: u32,
    next_incarnation: u64,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            next_table: 1,
            next_partition: 1,
            next_node: 0,
            next_incarnation: 1,
        }
    }
}

impl Ids {
    /// As they are after partitions up to that one were made.
    #[cfg(test)]
    pub(crate) const fn after_partition(self, last: PartitionId) -> Self {
        Self {
            next_partition: last.0 + 1,
            ..self
        }
    }

    pub(crate) fn draw_table(&mut self) -> Result<TableId, Refusal> {
        let drawn = self.next_table;
        self.next_table = drawn.checked_add(1).ok_or(Refusal::TableIdsExhausted)?;
        assert!(drawn > 0, "0 stands for no table");
        Ok(TableId(drawn))
    }

    /// The first of so many partitions, whose ids follow one another.
    pub(crate) fn draw_partitions(&mut self, count: u32) -> Result<PartitionId, Refusal> {
        assert!(count > 0, "a map has a partition");
        let first = PartitionId(self.next_partition);
        let next = first.0.checked_add(count);
        self.next_partition = next.ok_or(MapError::IdsExhausted { first, count })?;
        assert!(first.0 > 0, "0 stands for no partition");
        Ok(first)
    }

    pub(crate) fn draw_node(&mut self) -> Result<NodeId, Refusal> {
        let drawn = self.next_node;
        self.next_node = drawn.checked_add(1).ok_or(Refusal::NodeIdsExhausted)?;
        Ok(NodeId(drawn))
    }

    pub(crate) fn draw_incarnation(&mut self) -> Incarnation {
        let drawn = self.next_incarnation;
        assert!(drawn > 0, "0 stands for no incarnation");
        self.next_incarnation += 1;
        Incarnation(drawn)
    }

    /// Whether there was such a table.
    pub(crate) fn has_drawn_table(&self, id: TableId) -> bool {
        (1..self.next_table).contains(&id.0)
    }

    /// Whether there may yet be such a table: it is none that there was.
    pub(crate) const fn may_draw_table(&self, id: TableId) -> bool {
        id.0 >= self.next_table
    }

    /// Whether there was such a partition.
    pub(crate) fn has_drawn_partition(&self, id: PartitionId) -> bool {
        (1..self.next_partition).contains(&id.0)
    }

    /// Whether there was such a node.
    pub(crate) const fn has_drawn_node(&self, id: NodeId) -> bool {
        id.0 < self.next_node
    }

    /// Whether some brick lived that life.
    pub(crate) fn has_drawn_incarnation(&self, life: Incarnation) -> bool {
        (1..self.next_incarnation).contains(&life.0)
    }
}
