//! What a client knows that does not hold the map: how far it is on its way to a partition, and the partitions that it remembers.
//!
//! Not here: what it does about that (`seeker`).

use brickyard_routing::graph::{Graph, LEAF_BYTES, LeafCache};

/// Partitions that are remembered: fewer than there are.
const LEAVES_MAX: usize = 3;

/// A node and a brick of it.
pub(crate) type Brick = (usize, usize);

/// What a client knows that does not hold the map.
#[derive(Debug)]
pub(crate) struct Seeker {
    pub(crate) graph: Graph,
    /// Whether bricks are to go by one routing table at a time.
    pub(crate) is_plain: bool,
    pub(crate) cache: LeafCache<Brick>,
    pub(crate) stage: Stage,
    /// Of which call.
    pub(crate) operation: usize,
}

/// How far it is with the call at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is known of its partition yet.
    Begin,
    /// On the way: the next one to be asked is so near.
    OnTheWay {
        distance: u64,
        partition: Option<i64>,
        hops: u32,
    },
    /// The call may be sent where the client is going, or is.
    There,
}

impl Seeker {
    pub(crate) fn new(client: u64) -> Self {
        Self {
            graph: Graph::ALL[client as usize % 2],
            is_plain: client / 2 % 2 == 1,
            cache: LeafCache::new(LEAVES_MAX * LEAF_BYTES),
            stage: Stage::Begin,
            operation: usize::MAX,
        }
    }
}
