//! The tables of the cluster.
//!
//! In: tables that are made, changed and dropped. Out: tables by name and by id.
//!
//! Tables are shared between copies of the catalog, so that a copy (each brick routes by one that
//! never changes under its hands) costs a pointer a table and not a map.
//!
//! Invariants:
//! - A table is found by its own name. Ids of tables and partitions are one table's each, and were given out.
//! - There is always a table [`DEFAULT_TABLE`].

use crate::{
    group::replicas,
    ids::Ids,
    name::{self, DEFAULT_TABLE},
    nodes::Nodes,
    refusal::Refusal,
    table::TableEntry,
    version::CatalogVersion,
};
use brickyard_routing::{Hasher, NodeId, Replica};
use brickyard_types::{Leases, PartitionId, TableId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    by_name: BTreeMap<String, Arc<TableEntry>>,
}

impl Tables {
    /// All tables, by name.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &TableEntry> {
        self.by_name.values().map(Arc::as_ref)
    }

    pub(crate) fn table(&self, name: &str) -> Option<&TableEntry> {
        self.by_name.get(name).map(Arc::as_ref)
    }

    /// The table of that name, or the refusal that says that there is none.
    pub(crate) fn get(&self, name: &str) -> Result<&TableEntry, Refusal> {
        self.table(name).ok_or_else(|| name::unknown(name))
    }

    /// - Time: linear in the tables; for operators and recovery, not for requests.
    pub(crate) fn by_id(&self, id: TableId) -> Option<&TableEntry> {
        self.iter().find(|table| table.id == id)
    }

    /// The table by id, shared: it stays as it is, whatever is changed.
    pub(crate) fn shared_by_id(&self) -> BTreeMap<TableId, Arc<TableEntry>> {
        let tables = self.by_name.values();
        tables.map(|it| (it.id, Arc::clone(it))).collect()
    }

    /// Whether some table has such a partition.
    pub(crate) fn has_partition(&self, partition: PartitionId) -> bool {
        let mut tables = self.by_name.values();
        tables.any(|table| table.map.group(partition).is_some())
    }

    /// Adds a table whose name and id nobody has.
    pub(crate) fn insert(&mut self, table: TableEntry) {
        let id = table.id;
        let twin = self.by_name.insert(table.name.clone(), Arc::new(table));
        assert!(twin.is_none(), "table {id} takes the name of {twin:?}");
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<Arc<TableEntry>, Refusal> {
        assert_ne!(name, DEFAULT_TABLE, "the default table stays");
        self.by_name.remove(name).ok_or_else(|| name::unknown(name))
    }

    /// Changes those tables that are to be changed; a table keeps its name and its id.
    pub(crate) fn change_where(
        &mut self,
        is_wanted: impl Fn(&TableEntry) -> bool,
        mut change: impl FnMut(&mut TableEntry),
    ) {
        for (name, table) in &mut self.by_name {
            if is_wanted(table) {
                let id = table.id;
                let table = Arc::make_mut(table);
                change(table);
                assert_eq!((&table.name, table.id), (name, id), "a table stays itself");
            }
        }
    }

    /// Changes a table.
    pub(crate) fn change(&mut self, id: TableId, change: impl FnOnce(&mut TableEntry)) {
        let mut change = Some(change);
        let is_it = |table: &TableEntry| table.id == id;
        self.change_where(is_it, |table| {
            if let Some(change) = change.take() {
                change(table);
            }
        });
        assert!(change.is_none(), "table {id} is there");
    }

    /// The leases of those that have any, or had.
    pub(crate) fn leases(&self) -> BTreeMap<TableId, Leases> {
        let all = self.iter().map(|table| (table.id, table.attributes.leases));
        all.filter(|(_, leases)| leases.may_be_out()).collect()
    }

    /// Gives tables their leases, for a catalog that was read.
    pub(crate) fn put_leases(&mut self, all: BTreeMap<TableId, Leases>) -> Result<(), String> {
        for (id, leases) in all {
            if self.by_id(id).is_none() {
                return Err(format!("it has leases of table {id}, which is not there"));
            }
            self.change(id, |table| table.attributes.leases = leases);
        }
        Ok(())
    }

    /// Whether some have hash functions that catalogs of earlier formats know nothing of.
    pub(crate) fn has_later_hashes(&self) -> bool {
        let mut hashers = self.iter().map(|table| table.map.hasher().hasher());
        hashers.any(|it| matches!(it, Hasher::Keyed | Hasher::Ordered(_)))
    }

    /// How much each table keeps of its changes, of those that keep any.
    pub(crate) fn histories(&self) -> Vec<(TableId, u64)> {
        let all = self.iter().map(|it| (it.id, it.attributes.history));
        all.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// The same, of a catalog that is read; why it cannot be so.
    pub(crate) fn put_histories(&mut self, histories: Vec<(TableId, u64)>) -> Result<(), String> {
        for (id, bytes) in histories {
            if self.by_id(id).is_none() {
                return Err(format!("table {id} keeps changes and is not there"));
            }
            self.change(id, |table| table.attributes.history = bytes);
        }
        Ok(())
    }

    /// Lets a node into the sets of nodes that another one is in.
    pub(crate) fn join_sets_of(&mut self, old: NodeId, new: NodeId) {
        let has_it = |table: &TableEntry| table.layout.nodes.contains(&old);
        self.change_where(has_it, |table| {
            table.layout.nodes.insert(new);
        });
    }

    /// Takes a node that is gone out of all sets of nodes.
    pub(crate) fn leave_sets(&mut self, id: NodeId) {
        let has_it = |table: &TableEntry| table.layout.nodes.contains(&id);
        self.change_where(has_it, |table| {
            table.layout.nodes.remove(&id);
        });
    }

    /// What contradicts the invariants; for a catalog that was read. `met`: the partitions that there are, to be added to.
    pub(crate) fn check(
        &self,
        nodes: &Nodes,
        ids: &Ids,
        version: CatalogVersion,
        met: &mut BTreeSet<PartitionId>,
    ) -> Result<(), String> {
        let mut tables = BTreeSet::new();
        for table in self.iter() {
            let checked = name::check(&table.name);
            checked.map_err(|refusal| refusal.to_string())?;
            let wrong = |what: &str| Err(format!("table '{}' {what}", table.name));
            if table.map.table() != table.id {
                return wrong("has the maps of another table");
            }
            if !ids.has_drawn_table(table.id) || !tables.insert(table.id) {
                return wrong("has an id that is not its own");
            }
            for leaf in table.map.partitions().leaves() {
                if !ids.has_drawn_partition(leaf.partition) || !met.insert(leaf.partition) {
                    return wrong("has a partition that is not its own");
                }
            }
            // A node may have been removed by force from under its groups; none can be from the future.
            let mut named = table.map.groups().iter().flat_map(replicas);
            let is_known = |replica: Replica| {
                ids.has_drawn_node(replica.member.node)
                    && ids.has_drawn_incarnation(replica.incarnation)
            };
            if !named.all(is_known) {
                return wrong("is on a brick that is not in the cluster");
            }
            let mut set = table.layout.nodes.iter();
            let is_on_nodes = set.all(|node| nodes.node(*node).is_some());
            if !is_on_nodes || !table.layout.is_sound() {
                return wrong("cannot be laid out so");
            }
            if !table.is_sound(version) {
                return wrong("cannot be out of service so");
            }
        }
        if self.table(DEFAULT_TABLE).is_none() {
            return Err(format!("there is no table '{DEFAULT_TABLE}'"));
        }
        Ok(())
    }
}

/// A list, since a table has its name.
impl Serialize for Tables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Tables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tables = Vec::<TableEntry>::deserialize(deserializer)?;
        let by_name = tables.into_iter();
        let by_name = by_name.map(|table| (table.name.clone(), Arc::new(table)));
        Ok(Self {
            by_name: by_name.collect(),
        })
    }
}
