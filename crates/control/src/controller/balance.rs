//! Primaries evenly over the bricks that hold the partitions anyway: nothing is copied for it.
//!
//! After a failure a brick that came back has backups only. Primaries move along chains of bricks, each of
//! which holds something of the next, from the brick with most above its share to one with least, as long
//! as that makes things more even by a whole partition. Where a table's placement names the primary, that brick
//! becomes it.

use super::holdings::Holdings;
use super::hot::HotPartitions;
use super::liveness::LivenessView;
use super::placement::Placement;
use brickyard_metadata::{Catalog, Decisions, Proposal, TableEntry};
use brickyard_routing::{Candidate, Member, Replica, place, strategy};
use brickyard_types::PartitionId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A table's primaries, as they would be after what was decided so far.
struct Primaries {
    /// By leaf.
    groups: Vec<Held>,
    counts: BTreeMap<Member, i128>,
    /// Where a new table would have them, by leaf: one run of slots a brick.
    homes: Vec<Option<Member>>,
}

struct Held {
    partition: PartitionId,
    primary: Member,
    in_sync: Vec<Replica>,
    is_moved: bool,
}

/// Proposes hand-overs; it borrows what these depend on.
pub(super) struct Balance<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) view: &'a LivenessView,
    pub(super) placement: &'a Placement,
    pub(super) hot: &'a HotPartitions,
    pub(super) holdings: &'a Holdings,
}

impl Balance<'_> {
    /// Proposes some hand-overs that even out primaries, about `most`.
    pub(super) fn step(&self, most: usize, decisions: &mut Decisions) {
        let mut left = most;
        for table in self.catalog.tables().filter(|it| it.is_online()) {
            let mut candidates = self.catalog.candidates();
            candidates.retain(|it| it.weight > 0 && table.layout.admits(it.replica.member.node));
            if candidates.is_empty() || left == 0 {
                continue;
            }
            if !strategy(table.layout.placement).evens_primaries() {
                let planned = self.lead_as_planned(table, left);
                assert!(
                    planned.len() <= left,
                    "{} of {left} hand-overs",
                    planned.len()
                );
                left -= planned.len();
                decisions.proposals.extend(planned);
                continue;
            }
            let mut primaries = self.primaries(table, &candidates);
            let members: Vec<Member> = candidates
                .into_iter()
                .filter(|it| self.may_lead(it.replica))
                .map(|it| it.replica.member)
                .collect();
            while left > 0 {
                let Some(path) = primaries.path(self.holdings, &members) else {
                    break;
                };
                for step in path.windows(2) {
                    let [from, to] = step else { continue };
                    decisions
                        .proposals
                        .extend(primaries.hand_over(table, *from, *to));
                    left = left.saturating_sub(1);
                }
            }
        }
    }

    fn may_lead(&self, replica: Replica) -> bool {
        self.view.is_leased(replica) && !self.view.is_leaving(replica.member.node)
    }

    /// At most so many hand-overs to the members that the plan has first.
    fn lead_as_planned(&self, table: &TableEntry, most: usize) -> Vec<Proposal> {
        let wanted = table.partitions().filter_map(|(partition, group)| {
            let first = self.placement.target(partition).first()?;
            let mut in_sync: Vec<Replica> = group.in_sync().collect();
            let next = in_sync
                .iter()
                .find(|replica| replica.member == *first)
                .copied()?;
            let is_elsewhere = next != group.primary && !self.hot.is_placed(partition);
            if !is_elsewhere || !self.may_lead(next) || self.catalog.rest_of(partition).is_some() {
                return None;
            }
            in_sync.sort_by_key(|replica| *replica != next);
            Some(Proposal::of(table.id, partition, group, &in_sync))
        });
        wanted.take(most).collect()
    }

    fn primaries(&self, table: &TableEntry, candidates: &[Candidate]) -> Primaries {
        let mut counts = BTreeMap::new();
        let groups: Vec<Held> = table
            .partitions()
            .map(|(partition, group)| {
                *counts.entry(group.primary.member).or_insert(0) += 1;
                Held {
                    partition,
                    primary: group.primary.member,
                    in_sync: group.in_sync().collect(),
                    // What load put there stays; others even it out.
                    is_moved: self.hot.is_placed(partition),
                }
            })
            .collect();
        let homes = place(groups.len() as u32, candidates, 1);
        assert_eq!(homes.len(), groups.len(), "a home for each partition");
        Primaries {
            groups,
            counts,
            homes: homes
                .iter()
                .map(|group| Some(group.primary.member))
                .collect(),
        }
    }
}

impl Primaries {
    /// From the brick that is most above its share to the one that is most below and can be reached.
    fn path(&self, holdings: &Holdings, members: &[Member]) -> Option<Vec<Member>> {
        let total = self.groups.len() as i128;
        let weights: i128 = members
            .iter()
            .map(|it| i128::from(holdings.weight(*it)))
            .sum();
        // In partitions times the sum of the weights, so that shares are whole numbers.
        let excess = |member: &Member| {
            let count = self.counts.get(member).copied().unwrap_or_default();
            count * weights - total * i128::from(holdings.weight(*member))
        };
        let mut edges: BTreeMap<Member, BTreeSet<Member>> = BTreeMap::new();
        for held in self.groups.iter().filter(|held| !held.is_moved) {
            let others = held.in_sync.iter().map(|replica| replica.member);
            let others = others.filter(|it| *it != held.primary && members.contains(it));
            edges.entry(held.primary).or_default().extend(others);
        }
        let mut fullest: Vec<&Member> = members.iter().collect();
        fullest.sort_by_key(|member| std::cmp::Reverse(excess(member)));
        for from in fullest {
            let Some((to, came_from)) = emptiest(*from, &edges, &excess) else {
                continue;
            };
            // More even by a whole partition, or it would go back and forth.
            if excess(from) - excess(&to) > weights {
                return Some(walk_back(*from, to, &came_from));
            }
        }
        None
    }

    fn hand_over(&mut self, table: &TableEntry, from: Member, to: Member) -> Option<Proposal> {
        let is_movable = |held: &Held| {
            let holds = held.in_sync.iter().any(|replica| replica.member == to);
            held.primary == from && holds && !held.is_moved
        };
        let movable = || {
            let groups = self.groups.iter().enumerate();
            groups
                .filter(|(_, held)| is_movable(held))
                .map(|(leaf, _)| leaf)
        };
        // Home, if one is at home there; else one that is not at home here.
        let rank = |leaf: &usize| match self.homes.get(*leaf).copied().flatten() {
            Some(home) if home == to => 0,
            Some(home) if home == from => 2,
            _ => 1,
        };
        let leaf = movable().min_by_key(rank)?;
        assert_ne!(from, to, "a hand-over to the brick that leads");
        let held = &mut self.groups[leaf];
        held.primary = to;
        held.is_moved = true;
        held.in_sync.sort_by_key(|replica| replica.member != to);
        *self.counts.entry(from).or_default() -= 1;
        *self.counts.entry(to).or_default() += 1;
        let group = table.map.groups().get(leaf)?;
        Some(Proposal::of(table.id, held.partition, group, &held.in_sync))
    }
}

/// The brick with the least excess that can be reached, and who each one on the way was reached from.
fn emptiest(
    from: Member,
    edges: &BTreeMap<Member, BTreeSet<Member>>,
    excess: &impl Fn(&Member) -> i128,
) -> Option<(Member, BTreeMap<Member, Member>)> {
    let mut came_from = BTreeMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(at) = waiting.pop_front() {
        for next in edges.get(&at).into_iter().flatten() {
            if *next != from && !came_from.contains_key(next) {
                came_from.insert(*next, at);
                waiting.push_back(*next);
            }
        }
    }
    let to = came_from
        .keys()
        .min_by_key(|member| (excess(member), **member))
        .copied()?;
    Some((to, came_from))
}

fn walk_back(from: Member, to: Member, came_from: &BTreeMap<Member, Member>) -> Vec<Member> {
    let mut path = vec![to];
    let mut at = to;
    while at != from {
        let Some(before) = came_from.get(&at) else {
            break;
        };
        path.push(*before);
        at = *before;
    }
    path.reverse();
    assert_eq!(path.first(), Some(&from), "no way from {from} to {to}");
    path
}

#[cfg(test)]
#[path = "balance_test.rs"]
mod balance_test;
