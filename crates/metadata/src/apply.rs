//! Applying a change: every rule of the catalog is here, and nothing is done before all hold.

use crate::{
    catalog::{Catalog, Table},
    change::{Alteration, Applied, Change, Decisions, NewTable},
    name::{self, DEFAULT_TABLE},
    refusal::Refusal,
    sizing::Cause,
};
use brickyard_routing::{
    Candidate, Group, KeyHasher, NodeId, PARTITIONS_MAX, PartitionMap, TableMap,
    default_partitions, place,
};
use brickyard_types::{
    Durability, Eviction, Medium, PartitionId, TableAttributes, TableId, limits::TABLES_MAX,
};
use std::{collections::BTreeSet, sync::Arc};

impl Catalog {
    /// Makes one change, or refuses it and changes nothing.
    ///
    /// # Errors
    /// [`Refusal`]; its text is meant for whoever asked.
    pub fn apply(&mut self, change: Change) -> Result<Applied, Refusal> {
        let applied = self.carry_out(change)?;
        self.end_overtaken_splits();
        self.see_to_merges();
        self.end_overtaken_extras();
        Ok(applied)
    }

    fn carry_out(&mut self, change: Change) -> Result<Applied, Refusal> {
        match change {
            Change::CreateTable(table) => self.create(table),
            Change::AlterTable { name, alteration } => self.alter(&name, &alteration),
            Change::DropTable { name } => self.drop_table(&name),
            Change::Register(registration) => self.register(registration),
            Change::AlterNode { node, alteration } => self.alter_node(node, alteration),
            Change::RemoveNode { node, force } => self.remove_node(node, force),
            Change::Decide(decisions) => Ok(self.decide(&decisions)),
            Change::Recover(_) => Err(Refusal::NotDecided),
            Change::DrainNode { node, force } => self.drain_node(node, force),
            Change::ReplaceNode { old, new } => self.replace_node(old, new),
            Change::PauseMoves(is_paused) => Ok(self.pause_moves(is_paused)),
            Change::SplitPartition { table, partition } => {
                self.begin_split(&table, partition, None)
            }
            Change::SplitGrown { table, partition } => {
                self.begin_split(&table, partition, Some(Cause::Size))
            }
            Change::MergePartitions { table, partition } => self.begin_merge(&table, partition),
            Change::Divide(divide) => Ok(self.divide(&divide)),
            Change::SetExtras(extras) => Ok(self.set_extras(&extras)),
            Change::SizeTable { name, by_bricks } => self.size_table(&name, by_bricks),
        }
    }

    fn decide(&mut self, decisions: &Decisions) -> Applied {
        let parts = [
            self.settle(&decisions.settled),
            self.finish_splits(&decisions.splits),
            self.finish_merges(&decisions.merges),
            self.propose(&decisions.proposals),
            self.set_learners(&decisions.learners),
        ];
        Applied {
            stale: parts.into_iter().flat_map(|it| it.stale).collect(),
            ..self.applied(TableId(0))
        }
    }

    fn pause_moves(&mut self, is_paused: bool) -> Applied {
        if self.is_paused != is_paused {
            self.is_paused = is_paused;
            self.version = self.version.next();
        }
        self.applied(TableId(0))
    }

    fn create(&mut self, new: NewTable) -> Result<Applied, Refusal> {
        name::check(&new.name)?;
        if let Some(table) = self.tables.get(&new.name) {
            return if new.if_absent {
                let table = table.id;
                Ok(self.applied(table))
            } else {
                Err(Refusal::NameTaken { name: new.name })
            };
        }
        if self.tables.len() >= TABLES_MAX {
            return Err(Refusal::TooManyTables);
        }
        check_attributes(&new.attributes)?;
        self.check_replicas(&new.attributes)?;
        let count = self.partition_count(new.partitions)?;
        let first = PartitionId(self.next_partition);
        let table = TableId(self.next_table);
        let next_table = self
            .next_table
            .checked_add(1)
            .ok_or(Refusal::TableIdsExhausted)?;
        let partitions = PartitionMap::even(count, first)?;
        let next_partition = first
            .0
            .checked_add(count)
            .ok_or(brickyard_routing::MapError::IdsExhausted { first, count })?;
        let map = TableMap::new(
            table,
            KeyHasher::new(new.hasher, new.seed),
            partitions,
            self.place(count, new.attributes.replicas, &new.avoid),
        )?;
        let entry = Arc::new(Table {
            id: table,
            name: new.name.clone(),
            attributes: new.attributes,
            created: new.created,
            map,
        });
        self.tables.insert(new.name, entry);
        if new.partitions.is_none() {
            Arc::make_mut(&mut self.sized).insert(table);
        }
        self.next_table = next_table;
        self.next_partition = next_partition;
        self.version = self.version.next();
        Ok(self.applied(table))
    }

    fn alter(&mut self, name: &str, alteration: &Alteration) -> Result<Applied, Refusal> {
        let table = self.tables.get(name).ok_or_else(|| unknown(name))?;
        if *alteration == Alteration::default() {
            let name = name.to_owned();
            return Err(Refusal::NothingToAlter { name });
        }
        let attributes = altered(table, alteration)?;
        check_attributes(&attributes)?;
        let id = table.id;
        if attributes.replicas != table.attributes.replicas
            || attributes.min_in_sync != table.attributes.min_in_sync
        {
            self.check_replicas(&attributes)?;
        }
        if attributes != table.attributes
            && let Some(table) = self.tables.get_mut(name)
        {
            Arc::make_mut(table).attributes = attributes;
            self.version = self.version.next();
        }
        Ok(self.applied(id))
    }

    fn drop_table(&mut self, name: &str) -> Result<Applied, Refusal> {
        if name == DEFAULT_TABLE {
            return Err(Refusal::DropOfDefault);
        }
        let table = self.tables.remove(name).ok_or_else(|| unknown(name))?;
        self.forget_formers(table.id);
        if self.is_sized(table.id) {
            Arc::make_mut(&mut self.sized).remove(&table.id);
        }
        self.version = self.version.next();
        Ok(self.applied(table.id))
    }

    pub(crate) fn applied(&self, table: TableId) -> Applied {
        Applied {
            version: self.version,
            table,
            registered: None,
            stale: Vec::new(),
        }
    }

    fn check_replicas(&self, attributes: &TableAttributes) -> Result<(), Refusal> {
        let TableAttributes {
            replicas,
            min_in_sync,
            ..
        } = *attributes;
        let nodes = self.nodes().filter(|node| node.weight() > 0).count();
        match usize::from(replicas) {
            0 => Err(Refusal::NoReplicas),
            count if count > nodes => Err(Refusal::TooManyReplicas { replicas, nodes }),
            _ if !(1..=replicas).contains(&min_in_sync) => Err(Refusal::BadMinInSync {
                min_in_sync,
                replicas,
            }),
            _ => Ok(()),
        }
    }

    /// Groups for so many partitions: on nodes that are up, as long as there is one.
    fn place(&self, partitions: u32, replicas: u8, avoid: &[NodeId]) -> Vec<Group> {
        let mut candidates = self.candidates();
        candidates.retain(|brick| brick.weight > 0);
        let is_up = |brick: &Candidate| !avoid.contains(&brick.seat.member.node);
        if candidates.iter().any(is_up) {
            candidates.retain(is_up);
        }
        let nodes: BTreeSet<_> = candidates
            .iter()
            .map(|brick| brick.seat.member.node)
            .collect();
        // What is missing is added when the others are back.
        let replicas = usize::from(replicas).min(nodes.len()) as u8;
        place(partitions, &candidates, replicas)
    }

    fn partition_count(&self, asked: Option<u32>) -> Result<u32, Refusal> {
        let Some(count) = asked else {
            return Ok(default_partitions(&self.candidates()));
        };
        if !count.is_power_of_two() || count > PARTITIONS_MAX {
            let nearest = count.clamp(1, PARTITIONS_MAX).next_power_of_two();
            return Err(Refusal::BadPartitions { count, nearest });
        }
        let with_weight = self.nodes().filter(|node| node.weight() > 0);
        let bricks = with_weight.map(|node| node.bricks().len()).sum();
        let fewest = (bricks as u32).min(PARTITIONS_MAX);
        if count < fewest {
            let nearest = fewest.next_power_of_two();
            return Err(Refusal::FewPartitions {
                count,
                bricks,
                nearest,
            });
        }
        Ok(count)
    }
}

pub(crate) fn unknown(name: &str) -> Refusal {
    // A name that could not be a table's is shown with care.
    name::check(name)
        .err()
        .unwrap_or_else(|| Refusal::UnknownTable {
            name: name.to_owned(),
        })
}

/// What any table's attributes must be, new or changed.
fn check_attributes(attributes: &TableAttributes) -> Result<(), Refusal> {
    let on_disk = attributes.medium == Medium::Disk;
    let evicts = attributes.evict == Eviction::Lru;
    if on_disk && attributes.durability == Durability::Memory {
        return Err(Refusal::DiskWithoutLog);
    }
    if attributes.maxmemory == Some(0) {
        return Err(Refusal::NoMemory);
    }
    if evicts && on_disk {
        return Err(Refusal::EvictionFromDisk);
    }
    if evicts && attributes.maxmemory.is_none() {
        return Err(Refusal::EvictionWithoutBound);
    }
    Ok(())
}

/// The attributes that `table` would have, if it may have them.
fn altered(table: &Table, alteration: &Alteration) -> Result<TableAttributes, Refusal> {
    let mut attributes = table.attributes.clone();
    let fixed = |attribute, current: &dyn ToString, wanted: &dyn ToString| Refusal::Fixed {
        attribute,
        name: table.name.clone(),
        current: current.to_string(),
        wanted: wanted.to_string(),
    };
    if let Some(wanted) = alteration.medium
        && wanted != attributes.medium
    {
        return Err(fixed("MEDIUM", &attributes.medium, &wanted));
    }
    if let Some(wanted) = alteration.replicas {
        attributes.replicas = wanted;
    }
    if let Some(wanted) = alteration.min_in_sync {
        attributes.min_in_sync = wanted;
    }
    if let Some(wanted) = alteration.durability {
        // What is in memory alone has no record to recover from; and records that a table without a
        // log no longer overwrites would come back at a restart.
        let has_log = |durability| durability != Durability::Memory;
        if has_log(wanted) != has_log(attributes.durability) {
            return Err(fixed("DURABILITY", &attributes.durability, &wanted));
        }
        attributes.durability = wanted;
    }
    if let Some(wanted) = alteration.maxmemory {
        attributes.maxmemory = wanted;
    }
    if let Some(wanted) = alteration.evict {
        attributes.evict = wanted;
    }
    Ok(attributes)
}

#[cfg(test)]
#[path = "apply_test.rs"]
mod apply_test;
