//! Applying a change: every rule of the catalog is here, and nothing is done before all hold.

use crate::{
    catalog::{Catalog, Table},
    change::{Alteration, Applied, Change, Decisions, NewTable},
    layout::Layout,
    name::{self, DEFAULT_TABLE},
    offline::Standing,
    refusal::Refusal,
};
use brickyard_routing::{
    Candidate, Group, KeyHasher, Member, NodeId, PARTITIONS_MAX, PartitionMap, Seat, Situation,
    TableMap, default_partitions, strategy,
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
        self.see_to_returns();
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
            Change::MergePartitions { table, partition } => self.begin_merge(&table, partition),
            Change::Divide(divide) => Ok(self.divide(&divide)),
            Change::SetExtras(extras) => Ok(self.set_extras(&extras)),
            Change::SizeTable { name, by_bricks } => self.size_table(&name, by_bricks),
            Change::TakeOffline { name, force } => self.take_offline(&name, force),
            Change::BringOnline { name } => self.bring_online(&name),
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
        self.check_layout(&new.layout, &new.attributes)?;
        let count = self.partition_count(new.partitions, &new.layout)?;
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
        let groups = self.place(
            &partitions,
            new.attributes.replicas,
            &new.layout,
            &new.avoid,
        );
        let hasher = KeyHasher::new(new.hasher, new.seed);
        let map = TableMap::new(table, hasher, partitions, groups)?;
        let entry = Arc::new(Table {
            id: table,
            name: new.name.clone(),
            attributes: new.attributes,
            layout: new.layout,
            standing: Standing::Online,
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
        self.check_online(table)?;
        let attributes = altered(table, alteration)?;
        check_attributes(&attributes)?;
        let layout = table.layout.altered(&alteration.layout);
        let id = table.id;
        if layout != table.layout
            || attributes.replicas != table.attributes.replicas
            || attributes.min_in_sync != table.attributes.min_in_sync
        {
            self.check_layout(&layout, &attributes)?;
        }
        if (attributes != table.attributes || layout != table.layout)
            && let Some(table) = self.tables.get_mut(name)
        {
            let table = Arc::make_mut(table);
            table.attributes = attributes;
            table.layout = layout;
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

    /// Groups for a new table's partitions: on nodes that are up, as long as there is one.
    fn place(
        &self,
        partitions: &PartitionMap,
        replicas: u8,
        layout: &Layout,
        avoid: &[NodeId],
    ) -> Vec<Group> {
        let mut sites = self.sites(&BTreeSet::new(), layout);
        sites.retain(|site| site.weight > 0);
        let is_up = |member: Member| !avoid.contains(&member.node);
        if sites.iter().any(|site| is_up(site.member)) {
            sites.retain(|site| is_up(site.member));
        }
        let nodes: BTreeSet<NodeId> = sites.iter().map(|site| site.member.node).collect();
        let placed = strategy(layout.placement).begin(&Situation {
            sites: &sites,
            // What is missing is added when the others are back.
            replicas: usize::from(replicas).min(nodes.len()) as u8,
            leaves: partitions.leaves(),
            present: &vec![Vec::new(); partitions.leaves().len()],
        });
        let group = |members: &Vec<Member>| {
            let seats = members.iter().filter_map(|member| {
                let node = self.node(member.node)?;
                Some(node.seat(member.brick))
            });
            let mut seats: Vec<Seat> = seats.collect();
            let primary = seats.remove(0);
            Group::first(primary, seats)
        };
        placed.iter().map(group).collect()
    }

    fn partition_count(&self, asked: Option<u32>, layout: &Layout) -> Result<u32, Refusal> {
        let Some(count) = asked else {
            let mut candidates: Vec<Candidate> = self.candidates();
            candidates.retain(|it| layout.admits(it.seat.member.node));
            return Ok(default_partitions(&candidates));
        };
        if !count.is_power_of_two() || count > PARTITIONS_MAX {
            let nearest = count.clamp(1, PARTITIONS_MAX).next_power_of_two();
            return Err(Refusal::BadPartitions { count, nearest });
        }
        let bricks = self.holders(layout).map(|node| node.bricks().len()).sum();
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
