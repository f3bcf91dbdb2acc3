//! Tables are made, altered and dropped.
//!
//! In: what a table should be. Out: a table with maps on the nodes that there are; [`Refusal`]s that say what it cannot be.
//!
//! Invariants:
//! - Nothing is changed before all rules hold.
//! - A table's log is never taken away, nor given to it later.
//!
//! Not here: where partitions are placed (`routing`).

use crate::{
    applied::Done,
    change::TableEdit,
    copies::copies_by_nodes,
    ids::Ids,
    layout::Layout,
    name::{self, DEFAULT_TABLE},
    nodes::Nodes,
    parents::Parents,
    refusal::Refusal,
    table::{Alteration, NewTable, TableEntry, TableStatus},
    tables::Tables,
};
use brickyard_routing::{
    Candidate, Group, Hasher, KeyHasher, Member, NodeId, PARTITIONS_MAX, PartitionMap, Replica,
    Situation, TableMap, default_partitions, strategy,
};
use brickyard_types::{Durability, Eviction, Medium, TableAttributes, limits::TABLES_MAX};
use std::collections::BTreeSet;

/// Makes a table.
pub(crate) fn create_table(
    tables: &mut Tables,
    ids: &mut Ids,
    nodes: &Nodes,
    mut new: NewTable,
) -> Result<Done, Refusal> {
    name::check(&new.name)?;
    if let Some(table) = tables.table(&new.name) {
        return if new.if_absent {
            Ok(Done::of_table(table.id, false))
        } else {
            Err(Refusal::NameTaken { name: new.name })
        };
    }
    if tables.iter().len() >= TABLES_MAX {
        return Err(Refusal::TooManyTables);
    }
    check_attributes(&new.attributes)?;
    check_hasher(new.hasher)?;
    if let Some(copies) = copies_by_nodes(nodes, &new.layout) {
        new.attributes.replicas = copies;
    }
    nodes.check_layout(&new.layout, &new.attributes)?;
    let count = partition_count(nodes, new.partitions, &new.layout)?;
    let mut drawn = *ids;
    let table = drawn.draw_table()?;
    let partitions = PartitionMap::even(count, drawn.draw_partitions(count)?)?;
    let groups = place(nodes, &partitions, &new);
    assert_eq!(
        groups.len(),
        partitions.leaves().len(),
        "a partition has a group"
    );
    let hasher = KeyHasher::new(new.hasher, new.seed);
    let map = TableMap::new(table, hasher, partitions, groups)?;
    tables.insert(TableEntry {
        id: table,
        name: new.name,
        attributes: new.attributes,
        layout: new.layout,
        is_sized_by_bricks: new.partitions.is_none(),
        status: TableStatus::Online,
        created: new.created,
        map,
    });
    *ids = drawn;
    Ok(Done::of_table(table, true))
}

/// Changes a table's attributes and layout.
pub(crate) fn alter_table(
    tables: &mut Tables,
    nodes: &Nodes,
    name: &str,
    alteration: &Alteration,
    history: Option<u64>,
) -> Result<Done, Refusal> {
    let table = tables.get(name)?;
    if *alteration == Alteration::default() && history.is_none() {
        let name = name.to_owned();
        return Err(Refusal::NothingToAlter { name });
    }
    table.check_online()?;
    let mut attributes = altered(table, alteration)?;
    attributes.history = history.unwrap_or(attributes.history);
    check_attributes(&attributes)?;
    let mut layout = table.layout.altered(&alteration.layout);
    if alteration.replicas.is_some() {
        layout.copies_max = None;
    }
    let asked = &alteration.layout;
    if (asked.copies_max.is_some() || asked.nodes.is_some())
        && let Some(copies) = copies_by_nodes(nodes, &layout)
    {
        attributes.replicas = copies;
    }
    let id = table.id;
    if layout != table.layout
        || attributes.replicas != table.attributes.replicas
        || attributes.min_in_sync != table.attributes.min_in_sync
    {
        nodes.check_layout(&layout, &attributes)?;
    }
    let has_changed = attributes != table.attributes || layout != table.layout;
    if has_changed {
        tables.change(id, |table| {
            table.attributes = attributes;
            table.layout = layout;
        });
    }
    Ok(Done::of_table(id, has_changed))
}

/// Makes or changes a table, and says whether what is read of it may be kept under leases.
pub(crate) fn lease_table(
    tables: &mut Tables,
    ids: &mut Ids,
    nodes: &Nodes,
    table: TableEdit,
    is_on: bool,
) -> Result<Done, Refusal> {
    let (is_new, done) = match table {
        TableEdit::Create {
            table: mut new,
            history,
        } => {
            new.attributes.history = history;
            let done = create_table(tables, ids, nodes, new)?;
            // One that was there stays as it is.
            (done.has_changed, done)
        }
        TableEdit::Alter {
            name,
            alteration,
            history: None,
        } if alteration == Alteration::default() => {
            let table = tables.get(&name)?;
            table.check_online()?;
            (true, Done::of_table(table.id, false))
        }
        TableEdit::Alter {
            name,
            alteration,
            history,
        } => (
            true,
            alter_table(tables, nodes, &name, &alteration, history)?,
        ),
    };
    let id = done.table;
    let leases = tables.by_id(id).map(|table| table.attributes.leases);
    let wanted = leases.map(|leases| leases.set(is_on));
    let Some(wanted) = wanted.filter(|wanted| is_new && leases != Some(*wanted)) else {
        return Ok(done);
    };
    tables.change(id, |table| table.attributes.leases = wanted);
    Ok(Done::of_table(id, true))
}

/// Removes a table.
pub(crate) fn drop_table(
    tables: &mut Tables,
    parents: &mut Parents,
    name: &str,
) -> Result<Done, Refusal> {
    if name == DEFAULT_TABLE {
        return Err(Refusal::DropOfDefault);
    }
    let table = tables.remove(name)?;
    parents.forget(table.id);
    Ok(Done::of_table(table.id, true))
}

/// Groups for a new table's partitions: on nodes that are up, as long as there is one.
fn place(nodes: &Nodes, partitions: &PartitionMap, new: &NewTable) -> Vec<Group> {
    let mut sites = nodes.sites(&BTreeSet::new(), &new.layout);
    sites.retain(|site| site.weight > 0);
    let is_up = |member: Member| !new.avoid.contains(&member.node);
    if sites.iter().any(|site| is_up(site.member)) {
        sites.retain(|site| is_up(site.member));
    }
    let on: BTreeSet<NodeId> = sites.iter().map(|site| site.member.node).collect();
    let placed = strategy(new.layout.placement).begin(&Situation {
        sites: &sites,
        // What is missing is added when the others are back.
        replicas: usize::from(new.attributes.replicas).min(on.len()) as u8,
        leaves: partitions.leaves(),
        present: &vec![Vec::new(); partitions.leaves().len()],
    });
    let group = |members: &Vec<Member>| {
        let replicas = members.iter().filter_map(|member| {
            let node = nodes.node(member.node)?;
            Some(node.replica(member.brick))
        });
        let mut replicas: Vec<Replica> = replicas.collect();
        assert_eq!(
            replicas.len(),
            members.len(),
            "placement chooses among the nodes"
        );
        let primary = replicas.remove(0);
        Group::first(primary, replicas)
    };
    placed.iter().map(group).collect()
}

fn partition_count(nodes: &Nodes, asked: Option<u32>, layout: &Layout) -> Result<u32, Refusal> {
    let Some(count) = asked else {
        let mut candidates: Vec<Candidate> = nodes.candidates();
        candidates.retain(|it| layout.admits(it.replica.member.node));
        return Ok(default_partitions(&candidates));
    };
    if !count.is_power_of_two() || count > PARTITIONS_MAX {
        let nearest = count.clamp(1, PARTITIONS_MAX).next_power_of_two();
        return Err(Refusal::BadPartitions { count, nearest });
    }
    let bricks = nodes.holders(layout).map(|node| node.bricks().len()).sum();
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

/// That a hash function tells keys apart.
fn check_hasher(hasher: Hasher) -> Result<(), Refusal> {
    match hasher {
        Hasher::Ordered(Some(bounds)) if !hasher.is_useful() => Err(Refusal::AlikeBounds {
            from: bounds.from().to_owned(),
            to: bounds.to().to_owned(),
        }),
        _ => Ok(()),
    }
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
fn altered(table: &TableEntry, alteration: &Alteration) -> Result<TableAttributes, Refusal> {
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
#[path = "definition_test.rs"]
mod definition_test;
