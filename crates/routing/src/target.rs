//! Which bricks should hold each partition of a table: the placement that the balancer moves towards.
//!
//! In: the bricks with weights, nodes and zones; the number of copies; who holds what now. Out: for each
//! partition who should, its primary first.
//!
//! It is a pure function, so it is decided anew from what is there whenever it is needed, and whoever decides
//! comes to the same:
//! 1. copies that are too many go where there are most above the quota (`shares`), those that are missing come
//!    to who has most below it (`fill`);
//! 2. copies move from bricks above their quota to bricks below it, where there is no direct way along a chain
//!    of bricks (`shift`);
//! 3. primaries are evened out among those who hold the copies (`lead`).
//!
//! Invariants:
//! - No two members of a partition are on one node; of a zone there are no more than have to be.
//! - A brick holds its share of copies, and of primaries, within one partition, as long as the rule above lets
//!   it.
//! - What is as it should be stays, and nothing moves that makes nothing better: it comes to rest.
//! - A copy does not move from one brick of a node to another one: that node would have none in between.
//!
//! Not here: the order and the pace of moves (`control`).

mod fill;
mod lead;
mod shift;

use crate::group::Member;
use crate::shares::{Site, Wards};

/// The members that each partition should have, by leaf, the primary first.
///
/// `present` are those that it has, the primary first and learners last. Members that are none of `sites`, or
/// have no weight there, are to be replaced.
///
/// Fewer than `replicas` are returned where there are fewer nodes.
///
/// - Time: about linear in the copies if what there is fits, and in moves × bricks otherwise.
#[must_use]
pub fn target(sites: &[Site<'_>], replicas: u8, present: &[Vec<Member>]) -> Vec<Vec<Member>> {
    let mut sites: Vec<Site<'_>> = sites
        .iter()
        .copied()
        .filter(|site| site.weight > 0)
        .collect();
    sites.sort_by_key(|site| site.member);
    let mut draft = Draft::new(&sites, replicas, present);
    draft.drop_surplus();
    let kept = draft.holders.clone();
    let before = draft.is_complete().then(|| draft.unevenness());
    draft.uncrowd();
    draft.fill();
    draft.shift();
    if before.is_some_and(|before| draft.unevenness() >= before) {
        // Nothing would be gained by moving.
        draft.holders = kept;
    }
    draft.lead();
    let to_members = |bricks: Vec<usize>| bricks.into_iter().map(|it| sites[it].member).collect();
    draft.holders.into_iter().map(to_members).collect()
}

/// A placement in the making; bricks are numbered by their sites.
#[derive(Debug)]
struct Draft {
    wards: Wards,
    replicas: usize,
    /// Who holds each partition now, as far as it is to stay.
    present: Vec<Vec<usize>>,
    /// Who is to hold it, the primary first.
    holders: Vec<Vec<usize>>,
    /// Copies on each brick, and how many there should be.
    held: Vec<u64>,
    quotas: Vec<u64>,
    /// How many partitions each pair of bricks has in common.
    partners: Vec<Vec<u32>>,
}

impl Draft {
    fn new(sites: &[Site<'_>], replicas: u8, present: &[Vec<Member>]) -> Self {
        let number = |member: &Member| {
            let found = sites.binary_search_by_key(member, |site| site.member);
            found.ok()
        };
        let present: Vec<Vec<usize>> = present
            .iter()
            .map(|members| members.iter().filter_map(number).collect())
            .collect();
        let mut nodes: Vec<_> = sites.iter().map(|site| site.member.node).collect();
        nodes.dedup();
        let replicas = usize::from(replicas).min(nodes.len());
        let mut draft = Self {
            wards: Wards::new(sites, replicas),
            replicas,
            holders: present.clone(),
            present,
            held: vec![0; sites.len()],
            quotas: Vec::new(),
            partners: vec![vec![0; sites.len()]; sites.len()],
        };
        for leaf in 0..draft.holders.len() {
            for brick in draft.holders[leaf].clone() {
                draft.held[brick] += 1;
            }
            draft.note_partners(leaf);
        }
        draft.quotas = draft
            .wards
            .quotas(draft.holders.len(), replicas, &draft.held);
        draft
    }

    /// Whether each partition has as many members as it should.
    fn is_complete(&self) -> bool {
        let mut holders = self.holders.iter();
        holders.all(|it| it.len() == self.replicas)
    }

    /// Members that are in crowded zones, then copies that are above quotas.
    fn unevenness(&self) -> (usize, u64) {
        let crowded = self.leaves().map(|leaf| {
            let holders = self.holders[leaf].iter();
            let crowded = holders.filter(|it| self.crowd(leaf, **it, None) > self.wards.zone_limit);
            crowded.count()
        });
        let above = self.bricks().map(|brick| self.excess(brick).max(0) as u64);
        (crowded.sum(), above.sum())
    }

    fn note_partners(&mut self, leaf: usize) {
        let holders = &self.holders[leaf];
        for &one in holders {
            for &other in holders {
                self.partners[one][other] += u32::from(one != other);
            }
        }
    }

    /// Copies above the quota; negative below it.
    fn excess(&self, brick: usize) -> i64 {
        self.held[brick] as i64 - self.quotas[brick] as i64
    }

    fn remove(&mut self, leaf: usize, brick: usize) {
        self.holders[leaf].retain(|it| *it != brick);
        self.held[brick] -= 1;
        for &other in &self.holders[leaf] {
            self.partners[brick][other] -= 1;
            self.partners[other][brick] -= 1;
        }
    }

    /// Adds a member; the first one is the primary.
    fn add(&mut self, leaf: usize, brick: usize) {
        for &other in &self.holders[leaf] {
            self.partners[brick][other] += 1;
            self.partners[other][brick] += 1;
        }
        self.holders[leaf].push(brick);
        self.held[brick] += 1;
    }

    /// Puts a member in the place of another, as primary if that was it.
    fn replace(&mut self, leaf: usize, from: usize, to: usize) {
        let place = self.holders[leaf].iter().position(|it| *it == from);
        self.remove(leaf, from);
        self.add(leaf, to);
        self.holders[leaf].pop();
        let place = place.unwrap_or(self.holders[leaf].len());
        self.holders[leaf].insert(place, to);
    }

    /// How many members the zone of `brick` has, `without` left out.
    fn crowd(&self, leaf: usize, brick: usize, without: Option<usize>) -> usize {
        let zone = self.wards.zone(brick);
        let others = self.holders[leaf].iter().copied();
        let others = others.filter(|it| Some(*it) != without);
        others.filter(|it| self.wards.zone(*it) == zone).count()
    }

    /// Whether `brick` may be a member, in the place of `without` if there is one.
    fn may_join(&self, leaf: usize, brick: usize, without: Option<usize>) -> bool {
        self.is_apart(leaf, brick, without)
            && self.crowd(leaf, brick, without) < self.wards.zone_limit
    }

    /// Whether no other member is on the node of `brick`, nor was one that it would take the place of.
    fn is_apart(&self, leaf: usize, brick: usize, without: Option<usize>) -> bool {
        let node = self.wards.node_of[brick];
        let mut others = self.holders[leaf].iter().copied();
        let is_free = others.all(|it| Some(it) == without || self.wards.node_of[it] != node);
        let mut before = self.present[leaf].iter().copied();
        is_free && before.all(|it| it == brick || self.wards.node_of[it] != node)
    }

    /// How many members of the partition `brick` has another partition in common with.
    fn known(&self, leaf: usize, brick: usize, without: Option<usize>) -> usize {
        let others = self.holders[leaf].iter().copied();
        let others = others.filter(|it| Some(*it) != without);
        others.filter(|it| self.partners[brick][*it] > 0).count()
    }

    fn leaves(&self) -> std::ops::Range<usize> {
        0..self.holders.len()
    }

    fn bricks(&self) -> std::ops::Range<usize> {
        0..self.held.len()
    }
}

/// The steps of a chain that ends at `last`, the last one first: a partition, from which brick, to which.
fn walk_back(last: usize, came_by: &[Option<(usize, usize)>]) -> Vec<(usize, usize, usize)> {
    let mut path = Vec::new();
    let mut to = last;
    while let Some((leaf, from)) = came_by[to] {
        path.push((leaf, from, to));
        to = from;
    }
    path
}

#[cfg(test)]
#[path = "target_test.rs"]
mod target_test;
