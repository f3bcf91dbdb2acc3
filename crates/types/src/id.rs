//! Newtypes for the numbers that must never be mistaken for one another.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// One core of a node with its own event loop, log and port; numbered from 0 within its node.
    BrickId(u32), ""
);
id!(
    /// A table, for ever: ids are never reused, so a record of a dropped table is recognised.
    TableId(u32), ""
);
id!(
    /// A partition of some table, unique over all tables and never reused.
    PartitionId(u32), ""
);
id!(
    /// One membership of a replica group, numbered from 1 (Viewstamped Replication's word).
    View(u32), ""
);
id!(
    /// The number of an operation in its partition's log, from 1; 0 means "none yet".
    ///
    /// Tables keep 48 bits of it: at a million operations a second on one partition that lasts
    /// nine years.
    Op(u64), ""
);
id!(
    /// One life of a node: drawn by the control plane at each of its registrations, always higher than any
    /// before; 0 means "none yet".
    Incarnation(u64), ""
);
id!(
    /// A file of a brick's log; later files have higher numbers, from 1. 0 means "no file".
    SegmentId(u32), ""
);
id!(
    /// Redis Cluster's hash bucket of a key: CRC16 of the key or of its `{tag}`, below 16,384.
    Slot(u16), ""
);

/// What a node's data directory is known by, drawn when it was made: 40 hexadecimal digits, as in Redis Cluster.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeKey(pub [u8; 20]);

impl fmt::Display for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Op {
    /// The operation after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Slot {
    /// How many slots there are.
    pub const COUNT: u16 = 16_384;
}

/// Where a record starts: a segment and a byte offset in its file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// The segment; [`SegmentId`] 0 for a record that is in no log.
    pub segment: SegmentId,
    /// Offset in bytes from the start of the segment's file.
    pub offset: u32,
}

impl Position {
    /// The position of a record that is in no log (durability `memory`).
    pub const NONE: Self = Self {
        segment: SegmentId(0),
        offset: 0,
    };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {} offset {}", self.segment, self.offset)
    }
}
