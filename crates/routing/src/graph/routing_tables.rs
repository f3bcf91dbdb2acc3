//! What a brick knows of the way: the routing tables of the partitions that it holds.
//!
//! In:  the map of the brick's own version, and which leaves it holds. Out: the next hop towards a hash.
//!
//! Invariants:
//! - Nothing but leaves that are held and leaves that their edges name is ever answered, although the map that they are
//!   read from has all: so a brick that knew only these would answer the same.
//! - What aggregated routing answers is nearer than each of the held leaves.
//!
//! Going through all tables would take a brick of thousands of partitions tens of microseconds. Instead each graph is asked backwards: which
//! held leaf has an edge nearest to the hash? In Chord that is, for each length of an edge, the last held leaf that begins so
//! far before the hash. In a de Bruijn graph it is one under a short word followed by the hash's own bits: words are tried from the
//! shortest on, as long as there are fewer of them than held leaves.

use super::{Graph, bruijn, chord};
use crate::{group::Member, hash::RoutingHash, partition_map::PartitionMap, table_map::TableMap};
use brickyard_types::limits::PARTITION_DEPTH_MAX;

/// What a brick says of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// It holds the leaf at that index, and the hash is in it.
    Here(usize),
    /// The leaf at that index is nearer, and maybe the one.
    There(usize),
}

/// The leaves whose routing tables a brick (or a node) has, by their indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingTables {
    held: Vec<u32>,
}

impl RoutingTables {
    /// Those of the groups that `is_held` knows a member of, be it primary, backup or learner.
    #[must_use]
    pub fn of(map: &TableMap, is_held: impl Fn(Member) -> bool) -> Self {
        let groups = map.groups().iter().zip(0..);
        let held = groups.filter(|(group, _)| group.members().any(|it| is_held(it.member)));
        Self {
            held: held.map(|(_, leaf)| leaf).collect(),
        }
    }

    /// Those of these leaves.
    #[must_use]
    pub fn of_leaves(leaves: impl IntoIterator<Item = usize>) -> Self {
        let mut held: Vec<u32> = leaves.into_iter().map(|leaf| leaf as u32).collect();
        held.sort_unstable();
        held.dedup();
        Self { held }
    }

    /// How many leaves are held.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether the leaf at that index is held.
    #[must_use]
    pub fn holds(&self, leaf: usize) -> bool {
        self.held.binary_search(&(leaf as u32)).is_ok()
    }

    /// One of the leaves that are held, by chance as it were: another for another number.
    #[must_use]
    pub fn some(&self, number: u64) -> Option<usize> {
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let at = (spread as usize).checked_rem(self.held.len())?;
        self.held.get(at).map(|leaf| *leaf as usize)
    }

    /// The way to `target`: by the routing table of leaf `by` alone, if that is held, else by all of them. `None`: no leaf is
    /// held, and nothing known.
    ///
    /// `partitions` is the map that the indices are of.
    #[must_use]
    pub fn next_hop(
        &self,
        graph: Graph,
        partitions: &PartitionMap,
        target: RoutingHash,
        by: Option<usize>,
    ) -> Option<NextHop> {
        if let Some(leaf) = by.filter(|leaf| self.holds(*leaf)) {
            let next = graph.next(partitions, leaf, target);
            return Some(next.map_or(NextHop::Here(leaf), NextHop::There));
        }
        let goal = partitions.leaf_index(target);
        if self.holds(goal) {
            return Some(NextHop::Here(goal));
        }
        let next = match graph {
            Graph::Chord => self.by_chord(partitions, target),
            Graph::Bruijn => self.by_bruijn(partitions, target),
        };
        next.map(NextHop::There)
    }

    fn by_chord(&self, partitions: &PartitionMap, target: RoutingHash) -> Option<usize> {
        let leaves = partitions.leaves();
        let steps = (1..=PARTITION_DEPTH_MAX).map(|bit| 1_u64 << (64 - bit));
        let known = steps.filter_map(|step| {
            let begin = RoutingHash(target.0.wrapping_sub(step));
            let leaf = self.at_or_before(partitions.leaf_index(begin))?;
            let from = leaves.get(leaf)?.prefix;
            // A shorter step stays in the leaf.
            let has_edge = from.last().0 - from.first().0 < step;
            has_edge.then(|| chord::at(partitions, from, step))
        });
        known.min_by_key(|leaf| chord::distance(leaves[*leaf].prefix, target))
    }

    /// The last held leaf that is not behind that one; around the ring, if need be.
    fn at_or_before(&self, leaf: usize) -> Option<usize> {
        let before = self.held.partition_point(|it| *it as usize <= leaf);
        let found = match before {
            0 => self.held.last(),
            _ => self.held.get(before - 1),
        };
        found.map(|it| *it as usize)
    }

    fn by_bruijn(&self, partitions: &PartitionMap, target: RoutingHash) -> Option<usize> {
        let leaves = partitions.leaves();
        let nearest = |known: &mut dyn Iterator<Item = usize>| {
            known.min_by_key(|leaf| bruijn::distance(leaves[*leaf].prefix, target))
        };
        for length in 1..=u32::from(PARTITION_DEPTH_MAX) {
            let words = 1_u64 << length;
            if words > self.held.len() as u64 {
                break;
            }
            let mut known = (0..words).filter_map(|word| {
                let leaf = partitions.leaf_index(bruijn::point(word, length, target));
                let next = bruijn::shifted(word, length, target);
                self.holds(leaf).then(|| partitions.leaf_index(next))
            });
            if let Some(found) = nearest(&mut known) {
                return Some(found);
            }
        }
        let mut known = self.held.iter().filter_map(|leaf| {
            let from = leaves.get(*leaf as usize)?.prefix;
            bruijn::next(partitions, from, target)
        });
        nearest(&mut known)
    }
}

#[cfg(test)]
#[path = "routing_tables_test.rs"]
mod routing_tables_test;
