//! Lookups tried out: tables and nodes of any number, a client that remembers a share of the leaves, and what that costs.
//!
//! In:  a [`LookupTrial`], which is a pure function of its fields: chance comes from its seed. Out: [`LookupFigures`].
//!
//! Nodes hold runs of leaves, as the placement `even` lays them out. A lookup begins at a leaf drawn by chance, or at what the client
//! remembers, and is passed from node to node until one holds the leaf.
//!
//! Not here: time, sockets, failures (`brickyard bench --lookup`, the simulator).

use super::{Graph, HOPS_MAX, LeafCache, NextHop, RoutingTables, leaf_cache::LEAF_BYTES};
use crate::{error::MapError, hash::RoutingHash, partition_map::PartitionMap};
use brickyard_types::PartitionId;

/// Bytes that a client knows with a leaf besides its range: a primary and a backup, which are addresses that many leaves share.
const MEMBERS_BYTES: usize = 48;

/// What is tried.
///
/// ```
/// use brickyard_routing::graph::{Graph, LookupTrial};
/// let trial = LookupTrial { lookups: 2_000, ..LookupTrial::of(Graph::Chord, 64) };
/// let figures = trial.run()?;
/// // Half of log2 64.
/// assert!((figures.hops_mean - 3.0).abs() < 0.15, "{figures:?}");
/// # Ok::<(), brickyard_routing::MapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupTrial {
    /// Which leaves know which.
    pub graph: Graph,
    /// Nodes, which have as many leaves each, to within one.
    pub nodes: usize,
    /// Leaves of the table; no fewer than nodes.
    pub partitions: usize,
    /// Whether nodes go by the tables of all leaves that they hold, and the client by all that it remembers; else by that of the leaf
    /// that they were asked for, and the client begins anywhere.
    pub is_aggregated: bool,
    /// The share of the leaves that the client may remember; 0: it begins anywhere each time.
    pub cached_share: f64,
    /// Lookups that count. As many come before as it takes to fill what is remembered.
    pub lookups: u32,
    /// Fixes what chance decides.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupFigures {
    /// Hops of a lookup from the node where it began, on average over those that the client did not know the answer to.
    pub hops_mean: f64,
    /// The longest of them.
    pub hops_max: u32,
    /// What theory says of plain routing from a leaf drawn by chance ([`Graph::hops_expected`]).
    pub hops_expected: f64,
    /// The share of lookups that the client knew the answer to.
    pub hits: f64,
    /// Bytes of what the client remembers at the end.
    pub client_bytes: usize,
    /// What all leaves would take there.
    pub whole_bytes: usize,
}

impl LookupTrial {
    /// One leaf a node, plain routing, nothing remembered: what theory is about.
    #[must_use]
    pub const fn of(graph: Graph, nodes: usize) -> Self {
        Self {
            graph,
            nodes,
            partitions: nodes,
            is_aggregated: false,
            cached_share: 0.0,
            lookups: 20_000,
            seed: 1,
        }
    }

    /// Looks up.
    ///
    /// # Errors
    /// [`MapError`] if there can be no table of so many partitions.
    ///
    /// # Panics
    /// If there are no nodes, or fewer partitions than nodes.
    pub fn run(&self) -> Result<LookupFigures, MapError> {
        assert!(
            (1..=self.partitions).contains(&self.nodes),
            "{} nodes share {} partitions",
            self.nodes,
            self.partitions
        );
        let table = Table::new(self)?;
        let leaf_bytes = LEAF_BYTES + MEMBERS_BYTES;
        let remembered = (self.partitions as f64 * self.cached_share) as usize;
        let mut client = Client {
            cache: LeafCache::new(remembered * leaf_bytes),
            chance: self.seed,
        };
        // Nearly all that it may remember, and then what it does once that is full.
        for _ in 0..remembered * 4 {
            let target = client.draw_hash();
            client.look_up(self, &table, target);
        }
        let (mut asked, mut hops_sum, mut hops_max) = (0_u64, 0_u64, 0);
        for _ in 0..self.lookups {
            let target = client.draw_hash();
            if let Some(hops) = client.look_up(self, &table, target) {
                asked += 1;
                hops_sum += u64::from(hops);
                hops_max = hops_max.max(hops);
            }
        }
        Ok(LookupFigures {
            hops_mean: hops_sum as f64 / asked.max(1) as f64,
            hops_max,
            hops_expected: self.graph.hops_expected(&table.partitions),
            hits: 1.0 - asked as f64 / f64::from(self.lookups.max(1)),
            client_bytes: client.cache.bytes(),
            whole_bytes: self.partitions * leaf_bytes,
        })
    }
}

/// The map of a table with so many leaves, of one depth or two, those of either spread over the space.
///
/// # Errors
/// [`MapError`] if that is none or too many.
pub fn trie_of(leaves: usize) -> Result<PartitionMap, MapError> {
    let depth = leaves.max(1).ilog2() as u8;
    let whole = 1_usize << depth;
    let split = leaves.saturating_sub(whole);
    let is_split = |at: usize| (at + 1) * split / whole > at * split / whole;
    let depths = (0..whole).flat_map(|at| match is_split(at) {
        true => vec![depth + 1; 2],
        false => vec![depth],
    });
    PartitionMap::from_depths(depths.zip((1..).map(PartitionId)))
}

struct Table {
    partitions: PartitionMap,
    /// By node.
    tables: Vec<RoutingTables>,
    /// By leaf.
    nodes: Vec<usize>,
}

impl Table {
    fn new(trial: &LookupTrial) -> Result<Self, MapError> {
        let partitions = trie_of(trial.partitions)?;
        let count = partitions.leaves().len();
        let nodes: Vec<usize> = (0..count).map(|leaf| leaf * trial.nodes / count).collect();
        let held = nodes.chunk_by(|one, two| one == two);
        let mut begin = 0;
        let tables = held.map(|run| {
            let leaves = begin..begin + run.len();
            begin = leaves.end;
            RoutingTables::of_leaves(leaves)
        });
        Ok(Self {
            tables: tables.collect(),
            partitions,
            nodes,
        })
    }
}

struct Client {
    cache: LeafCache<()>,
    chance: u64,
}

impl Client {
    fn draw(&mut self) -> u64 {
        // Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
        self.chance = self.chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.chance ^ (self.chance >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn draw_hash(&mut self) -> RoutingHash {
        RoutingHash(self.draw())
    }

    /// How many hops it took, if anybody had to be asked.
    fn look_up(&mut self, trial: &LookupTrial, table: &Table, target: RoutingHash) -> Option<u32> {
        if self.cache.find(target).is_some() {
            return None;
        }
        let drawn = self.draw() as usize % table.nodes.len();
        let nearest = self.cache.nearest(trial.graph, target);
        let nearest = nearest.filter(|_| trial.is_aggregated);
        let mut leaf = nearest.map_or(drawn, |(leaf, ())| {
            table.partitions.leaf_index(leaf.first())
        });
        let mut hops = 0;
        loop {
            let tables = &table.tables[table.nodes[leaf]];
            let by = Some(leaf).filter(|_| !trial.is_aggregated);
            match tables.next_hop(trial.graph, &table.partitions, target, by) {
                Some(NextHop::There(next)) => leaf = next,
                Some(NextHop::Here(found)) => {
                    let found = table.partitions.leaves()[found].prefix;
                    self.cache.learn(found, (), MEMBERS_BYTES);
                    return Some(hops);
                }
                None => unreachable!("every node holds a leaf"),
            }
            hops += 1;
            assert!(hops <= HOPS_MAX, "a walk in one map ends: {trial:?}");
        }
    }
}

#[cfg(test)]
#[path = "lookup_trial_test.rs"]
mod lookup_trial_test;
