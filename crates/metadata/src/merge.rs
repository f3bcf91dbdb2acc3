//! Two partitions become one again: the intent, and the maps with the whole in the place of the halves.
//!
//! In: one of two siblings (an operator, or a brick, by size); and then the word of both primaries that all of their
//! operations have committed and that they prepare no more. Out: an intent that every brick knows of; then one new
//! partition with the same members, in a view after the last of both, and where the logs of both ended.
//!
//! Invariants (rule `splits and merges are bound to views`):
//! - The siblings have the same members, and one brick leads both, before either comes to rest.
//! - They rest in the views in effect. Whatever changes the members of either ends the intent, and both go on.
//! - The maps change by compare-and-set, when the primary has answered for both.
//! - The whole's ops begin behind the last of both, which is the same op for every replica: so is the claim of whoever
//!   held both to their ends.
//! - A table never has fewer partitions than it was made with, nor than its bricks need (`sizing`).
//!
//! Not here: how bricks join their partitions (`brick`), when to merge (`control`, `brick`).

use crate::{
    applied::Done,
    group::{has_same_members, is_still},
    ids::Ids,
    nodes::Nodes,
    parents::{Merged, Parent, Parents},
    proposal::Stale,
    refusal::Refusal,
    sizing::depth_wanted,
    table::TableEntry,
    tables::Tables,
    transitions::{Merge, Resting, Transitions},
    version::CatalogVersion,
};
use brickyard_routing::Prefix;
use brickyard_types::{Op, PartitionId, TableId, View};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A primary's answer: every operation of the view has committed, and none will follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The view that it answers for.
    pub view: View,
    /// Which rest it answers.
    pub begun_at: CatalogVersion,
    /// Its last record, which has committed.
    pub last: (View, Op),
}

/// What decides whether siblings may be merged.
#[derive(Clone, Copy)]
pub(crate) struct Siblings<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) tables: &'a Tables,
    pub(crate) parents: &'a Parents,
}

impl Siblings<'_> {
    /// How many bits the prefixes of a table's first partitions had, or those of partitions that its bricks need: none is
    /// merged beyond.
    pub(crate) fn first_depth(self, table: &TableEntry) -> u8 {
        let needed = depth_wanted(self.nodes, table);
        let parents = self.parents.of_table(table.id);
        let parents = parents.map(|(_, it)| it.prefix().depth());
        let leaves = table.map.partitions().leaves().iter();
        let leaves = leaves.map(|leaf| leaf.prefix.depth());
        let first = parents.chain(leaves).min().unwrap_or_default();
        first.max(needed)
    }

    /// Siblings of a table, the left one first, that came from partitions of that kind by a split, and need not be two.
    pub(crate) fn that_came_from(
        self,
        table: TableId,
        is_wanted: impl Fn(&Parent) -> bool,
    ) -> Vec<[PartitionId; 2]> {
        let Some(table) = self.tables.by_id(table) else {
            return Vec::new();
        };
        let parents = || self.parents.of_table(table.id);
        if !parents().any(|(_, it)| is_wanted(it)) {
            return Vec::new();
        }
        // Numbers rise: of two that had the same keys, the last one counts.
        let last: BTreeMap<Prefix, &Parent> = parents().map(|(_, it)| (it.prefix(), it)).collect();
        let needed = depth_wanted(self.nodes, table);
        let is_marked = |prefix: Prefix| {
            let is_needed = prefix.depth() < needed;
            !is_needed && last.get(&prefix).is_some_and(|it| is_wanted(it))
        };
        let leaves = table.map.partitions().leaves();
        let pairs = leaves.windows(2).filter_map(|pair| {
            let parent = pair[0].prefix.parent()?;
            let are_siblings = parent.children() == Some([pair[0].prefix, pair[1].prefix]);
            (are_siblings && is_marked(parent)).then(|| [pair[0].partition, pair[1].partition])
        });
        pairs.collect()
    }

    /// Whether a partition and its sibling can be merged: which two, or `None` if that is under way.
    pub(crate) fn check_merge(
        self,
        transitions: &Transitions,
        name: &str,
        partition: PartitionId,
    ) -> Result<Option<[PartitionId; 2]>, Refusal> {
        let table = self.tables.get(name)?;
        table.check_online()?;
        let (leaf, _) = table.place_of(partition)?;
        if leaf.prefix.depth() <= self.first_depth(table) {
            return Err(Refusal::FewestPartitions {
                name: name.to_owned(),
                partition: partition.0,
            });
        }
        let Some([left, right]) = table.siblings(partition) else {
            return Err(Refusal::SiblingSplit {
                partition: partition.0,
            });
        };
        if transitions.merge_from(left).is_some() {
            return Ok(None);
        }
        for partition in [left, right] {
            let is_still = table.map.group(partition).is_some_and(is_still);
            if !is_still || transitions.split_of(partition).is_some() {
                return Err(Refusal::PartitionChanging {
                    partition: partition.0,
                });
            }
        }
        if !table.are_together([left, right]) {
            return Err(Refusal::SiblingsApart {
                left: left.0,
                right: right.0,
            });
        }
        Ok(Some([left, right]))
    }
}

/// Makes known that a partition and its sibling are to be merged.
pub(crate) fn begin_merge(
    transitions: &mut Transitions,
    ids: &mut Ids,
    among: Siblings<'_>,
    name: &str,
    partition: PartitionId,
) -> Result<Done, Refusal> {
    let siblings = among.check_merge(transitions, name, partition)?;
    let table = among.tables.get(name)?.id;
    let Some([left, right]) = siblings else {
        // It is what was asked for.
        return Ok(Done::of_table(table, false));
    };
    let merge = Merge {
        table,
        into: ids.draw_partitions(1)?,
        right,
        resting: None,
    };
    transitions.begin_merge(left, merge);
    Ok(Done::of_table(table, true))
}

/// Puts wholes into the maps, of which both halves are at rest.
pub(crate) fn finish_merges(
    tables: &mut Tables,
    transitions: &mut Transitions,
    parents: &mut Parents,
    ready: &[[Rest; 2]],
) -> Done {
    Done::batch(ready.iter().map(|rests| {
        let outcome = finish_merge(tables, transitions, parents, rests);
        (rests[0].partition, outcome)
    }))
}

fn finish_merge(
    tables: &mut Tables,
    transitions: &mut Transitions,
    parents: &mut Parents,
    rests: &[Rest; 2],
) -> Result<(), Stale> {
    let [left, right] = rests.map(|it| it.partition);
    let merge = *transitions.merge_from(left).ok_or(Stale::Unknown)?;
    let resting = merge.resting.ok_or(Stale::Unknown)?;
    let is_answer = |rest: &Rest| rest.table == merge.table && rest.begun_at == resting.begun_at;
    if merge.right != right || !rests.iter().all(is_answer) {
        return Err(Stale::Unknown);
    }
    let table = tables.by_id(merge.table).ok_or(Stale::Unknown)?;
    let mut prefixes = Vec::new();
    let mut generation = 0;
    for (rest, view) in rests.iter().zip(resting.views) {
        let group = table.map.group(rest.partition).ok_or(Stale::Unknown)?;
        let is_of_now = rest.view == view && group.view == view;
        if !is_of_now {
            return Err(Stale::Base {
                named: rest.view,
                is: group.view,
            });
        }
        generation = generation.max(group.generation);
        let leaf = table.leaf_of(rest.partition).ok_or(Stale::Unknown)?;
        prefixes.push(leaf.prefix);
    }
    let mut done = Ok(());
    tables.change(merge.table, |table| {
        done = table.map.merge([left, right], merge.into);
    });
    done.map_err(|_| Stale::Unknown)?;
    let [a, b] = resting.views;
    let [left_end, right_end] = rests.map(|it| it.last.1);
    let baseline = (a.max(b), left_end.max(right_end));
    transitions.end_merge(left);
    for ((rest, view), prefix) in rests.iter().zip(resting.views).zip(prefixes) {
        let merged = Merged {
            into: merge.into,
            last: rest.last,
            baseline,
            generation,
        };
        let parent = Parent::merged(merge.table, prefix, view, merged);
        parents.insert(rest.partition, parent);
    }
    Ok(())
}

/// Ends merges that a change has overtaken; lets siblings rest that one brick leads now, as of `version`.
pub(crate) fn advance_merges(
    transitions: &mut Transitions,
    tables: &Tables,
    version: CatalogVersion,
) {
    transitions.retain_merges(|left, merge| {
        let groups = tables.by_id(merge.table).and_then(|table| {
            let (left, right) = (table.map.group(left)?, table.map.group(merge.right)?);
            Some([left, right])
        });
        let Some([left, right]) = groups.filter(|[a, b]| has_same_members(a, b)) else {
            return false;
        };
        let are_still = is_still(left) && is_still(right);
        match merge.resting {
            Some(resting) => are_still && resting.views == [left.view, right.view],
            None => {
                if are_still && left.primary == right.primary {
                    merge.resting = Some(Resting {
                        views: [left.view, right.view],
                        begun_at: version,
                    });
                }
                // Whoever comes to hold one of them has to be copied to first.
                left.learners.is_empty() && right.learners.is_empty()
            }
        }
    });
}

#[cfg(test)]
#[path = "merge_test.rs"]
mod merge_test;
