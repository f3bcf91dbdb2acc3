//! How many copies each brick should hold: proportional to its weight, as far as copies have to be apart.
//!
//! In: the bricks' weights, nodes and zones; how many partitions with how many copies. Out: each brick's exact
//! share, and whole numbers within one of it.
//!
//! A node holds each partition once at most, and a zone as few copies of it as there are zones for. Whoever
//! would get more by its weight gets as much as it can hold, and the others share the rest:
//! ```text
//! weights 1 1 6, 2 copies of 100 partitions: 25 25 150 by weight, but 50 50 100
//! ```
//! Invariants:
//! - The whole numbers add up to all copies, and each is its share rounded down or up.
//!
//! Not here: which copies (`target`).

use crate::group::{Member, NodeId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A brick that may hold copies, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'a> {
    /// The brick.
    pub member: Member,
    /// Its share, relative to the others; 0 for none.
    pub weight: u32,
    /// What fails together with it. A node without a zone is one by itself.
    pub zone: Option<&'a str>,
}

/// Bricks that together hold a partition a limited number of times.
#[derive(Debug)]
struct Ward {
    /// How many copies they can hold.
    room: u128,
    bricks: Vec<usize>,
}

/// Where the bricks are: on which nodes, in which zones, and how many copies of a partition a zone may hold.
#[derive(Debug)]
pub(crate) struct Wards {
    /// By brick.
    pub(crate) node_of: Vec<NodeId>,
    /// Copies of one partition in one zone.
    pub(crate) zone_limit: usize,
    /// By brick: its node's ward and its zone's.
    wards_of: Vec<[usize; 2]>,
    /// The bricks of each node, then those of each zone.
    wards: Vec<Vec<usize>>,
    node_count: usize,
    /// By brick.
    weights: Vec<u128>,
}

/// A brick's share: `whole`, and `part` of one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    whole: u64,
    /// In 2^32nds; more than 0 if there is any.
    part: u64,
}

impl Wards {
    pub(crate) fn new(sites: &[Site<'_>], replicas: usize) -> Self {
        let node_of: Vec<NodeId> = sites.iter().map(|site| site.member.node).collect();
        let mut nodes: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        let mut zones: BTreeMap<(Option<&str>, Option<NodeId>), Vec<usize>> = BTreeMap::new();
        for (brick, site) in sites.iter().enumerate() {
            nodes.entry(site.member.node).or_default().push(brick);
            let alone = site.zone.is_none().then_some(site.member.node);
            zones.entry((site.zone, alone)).or_default().push(brick);
        }
        let node_count = nodes.len();
        let wards: Vec<Vec<usize>> = nodes.into_values().chain(zones.into_values()).collect();
        let mut wards_of = vec![[0; 2]; sites.len()];
        for (ward, bricks) in wards.iter().enumerate() {
            let kind = usize::from(ward >= node_count);
            for &brick in bricks {
                wards_of[brick][kind] = ward;
            }
        }
        let breadths = wards[node_count..].iter().map(|bricks| {
            let mut nodes: Vec<NodeId> = bricks.iter().map(|&brick| node_of[brick]).collect();
            nodes.sort();
            nodes.dedup();
            nodes.len()
        });
        let breadths: Vec<usize> = breadths.collect();
        // As far apart as all copies can be.
        let fits = |limit: &usize| {
            let most = breadths.iter().map(|breadth| breadth.min(limit));
            most.sum::<usize>() >= replicas
        };
        let zone_limit = (1..replicas).find(fits).unwrap_or(replicas);
        Self {
            node_of,
            zone_limit,
            wards_of,
            wards,
            node_count,
            weights: sites.iter().map(|site| u128::from(site.weight)).collect(),
        }
    }

    /// Copies for each brick, whole numbers. Where rounding leaves a choice, who holds more already keeps it.
    pub(crate) fn quotas(&self, partitions: usize, replicas: usize, held: &[u64]) -> Vec<u64> {
        let shares = self.shares(partitions as u128, (partitions * replicas) as u128);
        let mut quotas: Vec<u64> = shares.iter().map(|share| share.whole).collect();
        let mut left = (partitions * replicas) as u64 - quotas.iter().sum::<u64>();
        let mut order: Vec<usize> = (0..shares.len())
            .filter(|&brick| shares[brick].part > 0)
            .collect();
        order.sort_by_key(|&brick| {
            let share = shares[brick];
            let keeps = held[brick] > share.whole;
            (!keeps, std::cmp::Reverse(share.part), brick)
        });
        let mut rooms = self.rooms(partitions as u128);
        for (room, bricks) in rooms.iter_mut().zip(&self.wards) {
            let used: u64 = bricks.iter().map(|&brick| quotas[brick]).sum();
            *room = room.saturating_sub(u128::from(used));
        }
        for brick in order {
            let wards = self.wards_of[brick];
            if left > 0 && wards.iter().all(|&ward| rooms[ward] > 0) {
                wards.iter().for_each(|&ward| rooms[ward] -= 1);
                quotas[brick] += 1;
                left -= 1;
            }
        }
        quotas
    }

    /// Each brick's exact share rounded down and up: what it may hold without being off by a whole copy.
    pub(crate) fn bounds(&self, partitions: usize, replicas: usize) -> Vec<RangeInclusive<u64>> {
        let shares = self.shares(partitions as u128, (partitions * replicas) as u128);
        let rounded = shares.into_iter().map(|share| {
            let up = share.whole + u64::from(share.part > 0);
            share.whole..=up
        });
        rounded.collect()
    }

    /// The zone of a brick.
    pub(crate) fn zone(&self, brick: usize) -> usize {
        self.wards_of[brick][1]
    }

    /// How many copies each ward can hold.
    fn rooms(&self, partitions: u128) -> Vec<u128> {
        let limits = (0..self.wards.len()).map(|ward| {
            let is_zone = ward >= self.node_count;
            if is_zone { self.zone_limit } else { 1 }
        });
        limits.map(|limit| partitions * limit as u128).collect()
    }

    /// Exact shares of `copies`. The ward that can hold least for its weight is filled first; what is left
    /// is shared by the rest, until nobody would get more than it can hold.
    fn shares(&self, partitions: u128, copies: u128) -> Vec<Share> {
        let mut wards: Vec<Ward> = self
            .rooms(partitions)
            .into_iter()
            .zip(&self.wards)
            .map(|(room, bricks)| Ward {
                room,
                bricks: bricks.clone(),
            })
            .collect();
        let mut shares = vec![Share::default(); self.weights.len()];
        let mut open: Vec<usize> = (0..self.weights.len())
            .filter(|&brick| self.weights[brick] > 0)
            .collect();
        let mut left = copies;
        let weight = |bricks: &[usize]| -> u128 { bricks.iter().map(|&it| self.weights[it]).sum() };
        while !open.is_empty() {
            let total = weight(&open);
            let tight = wards
                .iter()
                .filter(|ward| weight(&ward.bricks) > 0)
                .min_by(|a, b| {
                    let of_a = a.room * weight(&b.bricks);
                    of_a.cmp(&(b.room * weight(&a.bricks)))
                })
                .filter(|ward| ward.room * total < left * weight(&ward.bricks));
            let (bricks, amount) = match tight {
                Some(ward) => (ward.bricks.clone(), ward.room),
                None => (open.clone(), left),
            };
            let of = weight(&bricks);
            for &brick in &bricks {
                shares[brick] = Share::of(amount * self.weights[brick], of);
            }
            left -= amount;
            open.retain(|brick| !bricks.contains(brick));
            for ward in &mut wards {
                if bricks.iter().any(|brick| ward.bricks.contains(brick)) {
                    ward.room = ward.room.saturating_sub(amount);
                    ward.bricks.retain(|brick| !bricks.contains(brick));
                }
            }
        }
        shares
    }
}

impl Share {
    fn of(amount: u128, weight: u128) -> Self {
        let rest = amount % weight;
        Self {
            whole: (amount / weight) as u64,
            part: ((rest << 32).div_ceil(weight)) as u64,
        }
    }
}

#[cfg(test)]
#[path = "shares_test.rs"]
mod shares_test;
