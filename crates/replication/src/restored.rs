//! What a brick's log says of a partition after a restart.

use crate::{Base, Entry, Run};
use brickyard_types::{Op, View};
use std::collections::VecDeque;

/// What recovery found; a restart cuts nothing by itself (PROTOCOL rule 9).
#[derive(Clone, Debug)]
pub struct Restored<P> {
    /// The history that the records belong to; 0: unknown, taken from the map.
    pub lineage: u32,
    /// The base record: everything up to it is here. Default: the partition's beginning.
    pub base: Base,
    /// The highest op that the log shows to be committed (flag `COMMITTED`, `Cut`, `Base`). Above
    /// `last.op` only after a catch-up that was not finished: such ops are applied and count for nothing.
    pub committed: Op,
    /// The last record of the run of consecutive ops that begins at `base`.
    pub last: (View, Op),
    /// The entries above `committed` up to `last`, in order; `turn` is ignored. Their marks must be ones
    /// that [`on_appended`](crate::Replicator::on_appended) was or will be told of, or 0 if recovery synced the log.
    pub tail: VecDeque<Entry<P>>,
    /// Nothing is missing between `base` and `last`: no damage, no unsure tail, no unfinished catch-up.
    pub is_complete: bool,
    /// Every tombstone above this op is here (PROTOCOL rule 14).
    pub horizon: Op,
    /// Which view's ops begin where; at least from `committed` on.
    pub history: Vec<Run>,
}

impl<P> Default for Restored<P> {
    fn default() -> Self {
        Self {
            lineage: 0,
            base: Base::default(),
            committed: Op(0),
            last: (View(0), Op(0)),
            tail: VecDeque::new(),
            is_complete: true,
            horizon: Op(0),
            history: Vec::new(),
        }
    }
}
