//! Tables go offline and come back: nobody serves them meanwhile, and what they hold is in the logs of their members.
//!
//! In: an operator's wish. Out: the table's [`Standing`], which every brick acts by; [`Refusal`]s that say what would have to
//! be otherwise.
//!
//! Invariants:
//! - A table goes offline whole: each partition has the copies that its table asks for, in sync, and nothing happens to it
//!   (with FORCE: fewer copies). Nothing changes about it until it comes back.
//! - Nobody serves a partition in the view in which it went: it is *parked* until a newer view takes effect, on the ground
//!   that the logs were read again (PROTOCOL rule 9).
//! - What is said of a log is said of one return: a table that went offline again is asked anew.
//!
//! Not here: who may lead such a partition (`control`), what bricks free and read again (`brick`).

use crate::{
    catalog::{Catalog, CatalogVersion, Table},
    change::Applied,
    refusal::Refusal,
};
use brickyard_routing::Group;
use brickyard_types::{Durability, PartitionId, View};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// Whether a table is served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// As any table.
    #[default]
    Online,
    /// Not at all: its records are in the logs alone.
    Offline,
    /// It is to be served again, and not all of it is yet.
    Returning {
        /// The catalog's version that first said so; names the return among those of the table.
        since: CatalogVersion,
        /// The partitions that nobody serves yet, in the views in which they went offline.
        parked: BTreeMap<PartitionId, View>,
    },
}

impl Table {
    /// Whether nobody serves it, nor is to.
    #[must_use]
    pub const fn is_offline(&self) -> bool {
        matches!(self.standing, Standing::Offline)
    }

    /// Whether it is served as any table.
    #[must_use]
    pub const fn is_online(&self) -> bool {
        matches!(self.standing, Standing::Online)
    }

    /// Which return to service is under way.
    #[must_use]
    pub const fn return_since(&self) -> Option<CatalogVersion> {
        match &self.standing {
            Standing::Returning { since, .. } => Some(*since),
            Standing::Online | Standing::Offline => None,
        }
    }

    /// Whether nobody may serve the partition in the view in effect, whoever is named in it.
    #[must_use]
    pub fn is_parked(&self, partition: PartitionId) -> bool {
        match &self.standing {
            Standing::Online => false,
            Standing::Offline => true,
            Standing::Returning { parked, .. } => parked.contains_key(&partition),
        }
    }

    /// What a table is called whose partitions are served, not served, or some of both.
    #[must_use]
    pub const fn standing_word(&self) -> &'static str {
        match &self.standing {
            Standing::Online => "online",
            Standing::Offline => "offline",
            Standing::Returning { .. } => "returning",
        }
    }

    /// Whether its state can be that of a table; for a catalog that was read.
    pub(crate) fn is_sound(&self, version: CatalogVersion) -> bool {
        let has_log = self.attributes.durability != Durability::Memory;
        match &self.standing {
            Standing::Online => true,
            Standing::Offline => has_log,
            Standing::Returning { since, parked } => {
                let is_its = |(partition, view): (&PartitionId, &View)| {
                    let group = self.map.group(*partition);
                    group.is_some_and(|group| group.view == *view)
                };
                has_log && *since <= version && !parked.is_empty() && parked.iter().all(is_its)
            }
        }
    }
}

impl Catalog {
    /// Frees a table's memory; with `force` also where it has fewer copies than it asks for.
    pub(crate) fn take_offline(&mut self, name: &str, force: bool) -> Result<Applied, Refusal> {
        let table = self
            .tables
            .get(name)
            .ok_or_else(|| crate::apply::unknown(name))?;
        let id = table.id;
        if table.is_offline() {
            return Ok(self.applied(id));
        }
        if table.attributes.durability == Durability::Memory {
            let name = name.to_owned();
            return Err(Refusal::OfflineWithoutLog { name });
        }
        self.check_still(table)?;
        let short = self.short_partitions(table);
        if short > 0 && !force {
            return Err(Refusal::OfflineShort {
                name: name.to_owned(),
                short,
                replicas: table.attributes.replicas,
            });
        }
        self.version = self.version.next();
        if let Some(table) = self.tables.get_mut(name) {
            let table = Arc::make_mut(table);
            table.standing = Standing::Offline;
            // Copies that have not caught up are no part of what comes back.
            let learning = table
                .map
                .groups()
                .iter()
                .zip(table.map.partitions().leaves());
            let without: Vec<(PartitionId, Group)> = learning
                .filter(|(group, _)| !group.learners.is_empty())
                .map(|(group, leaf)| {
                    let group = Group {
                        learners: Vec::new(),
                        ..group.clone()
                    };
                    (leaf.partition, group)
                })
                .collect();
            let set = table.map.set_groups(without);
            debug_assert!(set.is_ok(), "the partitions are the map's own: {set:?}");
        }
        Ok(self.applied(id))
    }

    /// Lets a table come back.
    pub(crate) fn bring_online(&mut self, name: &str) -> Result<Applied, Refusal> {
        let table = self
            .tables
            .get(name)
            .ok_or_else(|| crate::apply::unknown(name))?;
        let id = table.id;
        if table.is_offline() {
            self.version = self.version.next();
            let parked = table.partitions();
            let standing = Standing::Returning {
                since: self.version,
                parked: parked.map(|(it, group)| (it, group.view)).collect(),
            };
            if let Some(table) = self.tables.get_mut(name) {
                Arc::make_mut(table).standing = standing;
            }
        }
        Ok(self.applied(id))
    }

    /// That a table is served: only then can it be altered, split and the like.
    pub(crate) fn check_online(&self, table: &Table) -> Result<(), Refusal> {
        let name = table.name.clone();
        match table.standing {
            Standing::Online => Ok(()),
            Standing::Offline => Err(Refusal::TableOffline { name }),
            Standing::Returning { .. } => Err(Refusal::TableReturning { name }),
        }
    }

    /// That no view of a table is changing, and nothing of it is being split or merged.
    fn check_still(&self, table: &Table) -> Result<(), Refusal> {
        let is_moving = |(partition, group): &(PartitionId, &Group)| {
            let is_dividing =
                self.split_of(*partition).is_some() || self.merge_of(*partition).is_some();
            group.change.is_some() || is_dividing
        };
        let mut partitions = table.partitions();
        match partitions.find(is_moving) {
            Some((partition, _)) => Err(Refusal::PartitionChanging {
                partition: partition.0,
            }),
            None => Ok(()),
        }
    }

    /// Partitions with fewer copies in sync than their table asks for, or with one whose node has restarted since.
    fn short_partitions(&self, table: &Table) -> usize {
        let replicas = usize::from(table.attributes.replicas);
        let is_short = |(partition, group): &(PartitionId, &Group)| {
            let is_there = |seat: &_| table.is_parked(*partition) || self.is_current(*seat);
            group.in_sync().filter(is_there).count() < replicas
        };
        table.partitions().filter(is_short).count()
    }

    /// Partitions in newer views are served again; a table whose last one is so is online.
    pub(crate) fn see_to_returns(&mut self) {
        let is_returning = |table: &Arc<Table>| table.return_since().is_some();
        if !self.tables.values().any(is_returning) {
            return;
        }
        for table in self.tables.values_mut() {
            let Standing::Returning { parked, .. } = &table.standing else {
                continue;
            };
            let groups = &table.map;
            let is_parked = |(partition, view): &(&PartitionId, &View)| {
                let group = groups.group(**partition);
                group.is_some_and(|group| group.view == **view)
            };
            let left = parked.iter().filter(is_parked).count();
            if left == parked.len() {
                continue;
            }
            let left: BTreeMap<PartitionId, View> = parked
                .iter()
                .filter(is_parked)
                .map(|(partition, view)| (*partition, *view))
                .collect();
            let table = Arc::make_mut(table);
            match &mut table.standing {
                standing if left.is_empty() => *standing = Standing::Online,
                Standing::Returning { parked, .. } => *parked = left,
                Standing::Online | Standing::Offline => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "offline_test.rs"]
mod offline_test;
