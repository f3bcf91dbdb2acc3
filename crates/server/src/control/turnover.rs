//! What has become of tables' partitions since this process began: views, copies that went and came, moves.
//!
//! In:  the catalog, each time that there is another. Out: counts, by table.
//!
//! Every node has the catalog, so every node counts the same from when it began. It is looked at once a second: what came and
//! went in between is not seen, but that views have changed is.

use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{Group, Replica};
use brickyard_types::{PartitionId, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counts of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Views that took effect.
    pub(super) views: u64,
    /// Copies that were taken out of partitions that have too few since.
    pub(super) evicted: u64,
    /// Copies that are in sync where too few were.
    pub(super) made: u64,
    /// Copies that left a partition which has enough without them.
    pub(super) moved: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Turnover {
    /// The one that was looked at last.
    catalog: Option<Arc<Catalog>>,
    counts: BTreeMap<TableId, Counts>,
}

impl Turnover {
    /// This is the catalog now.
    pub(super) fn look(&mut self, catalog: &Arc<Catalog>) {
        let before = self.catalog.replace(Arc::clone(catalog));
        self.counts
            .retain(|table, _| catalog.table_by_id(*table).is_some());
        for table in catalog.tables() {
            let counts = self.counts.entry(table.id).or_default();
            let before = before.as_ref().and_then(|it| it.table_by_id(table.id));
            // A map that is the same has the same version.
            if let Some(before) = before.filter(|it| it.map.version() != table.map.version()) {
                compare(before, table, counts);
            }
        }
    }

    /// Those of a table.
    pub(super) fn of(&self, table: TableId) -> Counts {
        self.counts.get(&table).copied().unwrap_or_default()
    }
}

fn compare(before: &TableEntry, now: &TableEntry, counts: &mut Counts) {
    let groups: BTreeMap<PartitionId, &Group> = before.partitions().collect();
    let wanted = usize::from(now.attributes.replicas);
    for (partition, group) in now.partitions() {
        // What was split or merged begins with the copies that it had.
        let Some(former) = groups.get(&partition) else {
            continue;
        };
        let views = group.view.0.saturating_sub(former.view.0);
        if views > 0 {
            counts.views += u64::from(views);
            compare_copies(former, group, wanted, counts);
        }
    }
}

fn compare_copies(former: &Group, group: &Group, wanted: usize, counts: &mut Counts) {
    let count = |group: &Group| group.in_sync().count().min(wanted);
    let (had, has) = (count(former), count(group));
    counts.evicted += had.saturating_sub(has) as u64;
    counts.made += has.saturating_sub(had) as u64;
    if has == wanted {
        let stays = |replica: &Replica| group.in_sync().any(|it| it.member == replica.member);
        let left = former.in_sync().filter(|it| !stays(it)).count();
        counts.moved += left as u64;
    }
}

#[cfg(test)]
#[path = "turnover_test.rs"]
mod turnover_test;
