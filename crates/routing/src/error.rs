//! Why a map is not a map: maps come from disks, peers and operators, and are believed in nothing.

use crate::{group::Member, prefix::Prefix};
use brickyard_types::{PartitionId, limits::PARTITION_DEPTH_MAX};
use thiserror::Error;

/// Why a map was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// An even map has a power of two of partitions, and no more than the trie's depth allows.
    #[error(
        "partitions: {count} is not a power of two between 1 and {}; use {nearest}",
        1_u32 << PARTITION_DEPTH_MAX
    )]
    Count {
        /// How many were asked for.
        count: u32,
        /// The nearest count that is possible.
        nearest: u32,
    },
    /// Ids are 32 bits wide and never reused.
    #[error(
        "partition ids: {count} more from {first} pass the last id {}; the map was damaged or the cluster has used them up",
        u32::MAX
    )]
    IdsExhausted {
        /// The first id of the run.
        first: PartitionId,
        /// How many ids were needed.
        count: u32,
    },
    /// A leaf is deeper than the trie may be.
    #[error(
        "partition {partition} is at depth {depth}, the deepest possible is {PARTITION_DEPTH_MAX}; the map was damaged or comes from a newer version"
    )]
    Depth {
        /// The leaf's partition.
        partition: PartitionId,
        /// Its depth.
        depth: u8,
    },
    /// A leaf starts where no prefix of its depth starts, or ends past the end of the hash space.
    #[error(
        "partition {partition} at depth {depth} does not fit after the leaves before it; the map was damaged"
    )]
    Misplaced {
        /// The leaf's partition.
        partition: PartitionId,
        /// Its depth.
        depth: u8,
    },
    /// The leaves end before the hash space does.
    #[error(
        "the partition map covers {leaves} leaves and stops before routing hash {gap:#018x}; the map was cut off"
    )]
    Incomplete {
        /// How many leaves there are.
        leaves: usize,
        /// The first routing hash that no leaf holds.
        gap: u64,
    },
    /// Two leaves have one partition id.
    #[error("partition {partition} is named by two leaves; the map was damaged")]
    Repeated {
        /// The id.
        partition: PartitionId,
    },
    /// The table has no such partition (any more).
    #[error(
        "partition {partition} is not in the table's map; it was split or merged since, look it up again"
    )]
    Unknown {
        /// The id.
        partition: PartitionId,
    },
    /// The leaf is as deep as leaves may be.
    #[error(
        "partition {partition} is at depth {PARTITION_DEPTH_MAX} and cannot be split further; use larger bricks or another table"
    )]
    TooDeep {
        /// The leaf's partition.
        partition: PartitionId,
    },
    /// Only the two halves of one split can be merged.
    #[error(
        "partitions {left} ({left_prefix}) and {right} ({right_prefix}) are not the two halves of one prefix; merge siblings only"
    )]
    NotSiblings {
        /// The one.
        left: PartitionId,
        /// Its prefix.
        left_prefix: Prefix,
        /// The other.
        right: PartitionId,
        /// Its prefix.
        right_prefix: Prefix,
    },
    /// A merge joins partitions that the same bricks hold in the same roles.
    #[error(
        "partitions {left} and {right} have different replica groups; move one to the other's bricks first"
    )]
    DifferentGroups {
        /// The one.
        left: PartitionId,
        /// The other.
        right: PartitionId,
    },
    /// There is one group for each leaf.
    #[error("the map has {leaves} partitions and {groups} replica groups; the map was damaged")]
    GroupCount {
        /// Leaves of the partition map.
        leaves: usize,
        /// Groups given.
        groups: usize,
    },
    /// A group names a brick twice.
    #[error("the group of partition {partition} names brick {member} twice; the map was damaged")]
    RepeatedMember {
        /// The partition.
        partition: PartitionId,
        /// The brick.
        member: Member,
    },
}
