//! Routing graphs over a table's partitions: how a key is found by who knows a part of the map alone.
//!
//! In:  the leaves of a [`PartitionMap`] (or of several, at different versions), which of them a brick holds, a
//! routing hash. Out: the next leaf on the way to the one that holds it.
//!
//! Each partition is a vertex, and has a *routing table*: the leaves that its edges lead to. A brick has the routing
//! tables of the partitions that it holds, and no others. With plain routing it goes by one of them, with *aggregated*
//! routing by all at once ([`RoutingTables`]); a client does the same with the leaves that it remembers ([`LeafCache`]).
//!
//! | Graph | Edges of a leaf | Distance to a hash | Hops in a table of N equal leaves |
//! |---|---|---|---|
//! | Chord | the leaves at 1/2, 1/4, ... of the hash space behind its beginning, down to the next leaf | from its beginning to the hash, forwards | (log2 N) / 2 |
//! | de Bruijn | the leaves under its prefix without the first bit: two, where all are equally deep | bits of its prefix before those that the hash begins with | log2 N - 1.64 |
//!
//! Invariants:
//! - In one map every hop makes the distance smaller ([`Graph::distance`]), and it is 0 exactly at the leaf that holds
//!   the hash. So a lookup ends, whatever the depths of the leaves.
//! - Who looks up among bricks with different maps takes a hop only if it makes the distance smaller: it ends there as
//!   well, at the leaf or at a brick that knows none that is nearer.
//!
//! Not here: asking bricks (`brick/src/session/cluster.rs`, `client/src/seek.rs`).
//! Source: Stoica et al., "Chord" (SIGCOMM 2001); Kaashoek and Karger, "Koorde" (IPTPS 2003); Naor and Wieder, "Novel
//! Architectures for P2P Applications: the Continuous-Discrete Approach" (SPAA 2003), for leaves of different depths;
//! Rufino et al., "Domus: an architecture for cluster-oriented DHTs" (PPAM 2005), for aggregated routing.

mod bruijn;
mod chord;
mod leaf_cache;
mod lookup_trial;
mod routing_tables;
mod theory;

pub use leaf_cache::{LEAF_BYTES, LeafCache};
pub use lookup_trial::{LookupFigures, LookupTrial, trie_of};
pub use routing_tables::{NextHop, RoutingTables};

use crate::{hash::RoutingHash, partition_map::PartitionMap, prefix::Prefix};
use std::{fmt, str::FromStr};

/// The most hops of a lookup. In one map a lookup takes at most twice as many as the deepest leaf has bits, about; more
/// than this are a cluster in which everything moves at once, and a walk that is better begun anew.
pub const HOPS_MAX: u32 = 64;

/// Which leaves know which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Graph {
    /// As many edges as a leaf is deep; half as many hops.
    #[default]
    Chord,
    /// Two edges a leaf, or as many as there are leaves half as wide; about as many hops as it is deep.
    Bruijn,
}

impl Graph {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Chord, Self::Bruijn];

    /// How far a leaf is from the one that holds `target`, as this graph counts; 0: it holds it.
    #[must_use]
    pub fn distance(self, leaf: Prefix, target: RoutingHash) -> u64 {
        match self {
            Self::Chord => chord::distance(leaf, target),
            Self::Bruijn => bruijn::distance(leaf, target).into(),
        }
    }

    /// Which leaf the routing table of the leaf at that index names on the way to `target`; `None`: it holds it itself.
    ///
    /// # Panics
    /// If there is no leaf at that index.
    #[must_use]
    pub fn next(
        self,
        partitions: &PartitionMap,
        leaf: usize,
        target: RoutingHash,
    ) -> Option<usize> {
        let from = partitions.leaves()[leaf].prefix;
        match self {
            Self::Chord => chord::next(partitions, from, target),
            Self::Bruijn => bruijn::next(partitions, from, target),
        }
    }

    /// The leaves that the routing table of the leaf at that index names, each once, in order.
    ///
    /// # Panics
    /// If there is no leaf at that index.
    #[must_use]
    pub fn edges(self, partitions: &PartitionMap, leaf: usize) -> Vec<usize> {
        let from = partitions.leaves()[leaf].prefix;
        let mut edges = match self {
            Self::Chord => chord::edges(partitions, from),
            Self::Bruijn => bruijn::edges(partitions, from),
        };
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// How many hops a lookup takes by plain routing, on average over the leaves where it may begin and over all hashes.
    ///
    /// - Chord: a leaf of depth `d` has edges over 1/2, 1/4, ... 1/2^d of the space. The distance to the leaf that is
    ///   looked for is a sum of those, each of which is in it with chance 1/2, and a hop takes away the largest: `d / 2`.
    ///   For N equal leaves that is `(log2 N) / 2`.
    /// - De Bruijn: a hop drops the first of the bits of the leaf's prefix that do not match. There are `d` of them, less
    ///   the longest end of the prefix that the hash begins with, which is 1.64 bits long on average where `d` is large.
    #[must_use]
    pub fn hops_expected(self, partitions: &PartitionMap) -> f64 {
        let of = |depth| match self {
            Self::Chord => f64::from(depth) / 2.0,
            Self::Bruijn => theory::unmatched_mean(depth),
        };
        let leaves = partitions.leaves();
        let sum: f64 = leaves.iter().map(|leaf| of(leaf.prefix.depth())).sum();
        sum / leaves.len() as f64
    }

    /// The name by which it is asked for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chord => "chord",
            Self::Bruijn => "debruijn",
        }
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Graph {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let named = Self::ALL
            .into_iter()
            .find(|it| word.eq_ignore_ascii_case(it.name()));
        named.ok_or_else(|| format!("'{word}' is no routing graph; use chord or debruijn"))
    }
}

#[cfg(test)]
#[path = "graph_test.rs"]
mod graph_test;
