//! How much every brick holds, so that what is given out next goes to the brick with least.
//!
//! In:  the catalog, and what one pass decides. Out: shares, by the weights of bricks.
//!
//! Invariant: it counts what the catalog has, changed by what was decided since; it is made anew for each pass.

use super::case::primary_to_be;
use brickyard_metadata::Catalog;
use brickyard_routing::{Group, Member, Replica};
use brickyard_types::TableId;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Holdings {
    weights: BTreeMap<Member, u64>,
    weight_total: u64,
    primaries: BTreeMap<(TableId, Member), u64>,
    members: BTreeMap<Member, u64>,
    wanted_total: u64,
    learning: BTreeMap<Replica, usize>,
    partners: BTreeSet<(Member, Member)>,
}

impl Holdings {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut holdings = Self::default();
        for candidate in catalog.candidates() {
            let weight = u64::from(candidate.weight);
            holdings.weights.insert(candidate.replica.member, weight);
            holdings.weight_total += weight;
        }
        for table in catalog.tables() {
            for (_, group) in table.partitions() {
                holdings.wanted_total += u64::from(table.attributes.replicas);
                holdings.add(table.id, group);
            }
        }
        holdings
    }

    fn add(&mut self, table: TableId, group: &Group) {
        let primary = primary_to_be(group);
        *self.primaries.entry((table, primary.member)).or_default() += 1;
        for replica in group.members() {
            *self.members.entry(replica.member).or_default() += 1;
            if replica.member != primary.member {
                self.partners.insert((primary.member, replica.member));
            }
        }
        for replica in &group.learners {
            *self.learning.entry(*replica).or_default() += 1;
        }
    }

    /// A primary moves.
    pub(super) fn hand_over(&mut self, table: TableId, from: Member, to: Member) {
        let count = self.primaries.entry((table, from)).or_default();
        *count = count.saturating_sub(1);
        *self.primaries.entry((table, to)).or_default() += 1;
    }

    /// A brick begins to learn a partition of that primary.
    pub(super) fn learn(&mut self, primary: Member, replica: Replica) {
        *self.members.entry(replica.member).or_default() += 1;
        *self.learning.entry(replica).or_default() += 1;
        self.partners.insert((primary, replica.member));
    }

    /// The learners of a group are sent nothing, and may learn others meanwhile.
    pub(super) fn stop_learning(&mut self, group: &Group) {
        for replica in &group.learners {
            let count = self.learning.entry(*replica).or_default();
            *count = count.saturating_sub(1);
        }
    }

    /// A brick holds one partition less.
    pub(super) fn leave(&mut self, member: Member) {
        let count = self.members.entry(member).or_default();
        *count = count.saturating_sub(1);
    }

    pub(super) fn weight(&self, member: Member) -> u64 {
        self.weights.get(&member).copied().unwrap_or_default()
    }

    /// Primaries of a table on a brick, in thousandths of its weight.
    pub(super) fn primaries(&self, table: TableId, member: Member) -> u64 {
        let count = self.primaries.get(&(table, member)).copied();
        count.unwrap_or_default() * 1_000 / self.weight(member).max(1)
    }

    /// What a brick holds, in thousandths of its weight.
    pub(super) fn members(&self, member: Member) -> u64 {
        let count = self.members.get(&member).copied();
        count.unwrap_or_default() * 1_000 / self.weight(member).max(1)
    }

    /// Whether a brick would hold no more than its share with one partition more.
    pub(super) fn has_room(&self, member: Member) -> bool {
        let count = self.members.get(&member).copied().unwrap_or_default();
        let share = self.wanted_total * self.weight(member) / self.weight_total.max(1);
        count <= share
    }

    pub(super) fn learning(&self, replica: Replica) -> usize {
        self.learning.get(&replica).copied().unwrap_or_default()
    }

    pub(super) fn are_partners(&self, primary: Member, other: Member) -> bool {
        self.partners.contains(&(primary, other))
    }
}

#[cfg(test)]
#[path = "holdings_test.rs"]
mod holdings_test;
