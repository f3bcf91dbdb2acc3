//! The words every room shares: ids, bounds, time, table attributes and the log record.
//!
//! Nothing here does I/O, reads a clock or draws a random number; every other crate may use this
//! one, and this one uses no other room.

mod attributes;
mod id;
mod key_bounds;
mod layout;
pub mod limits;
pub mod part;
mod partition_hasher;
pub mod record;
mod time;
mod value_type;

pub use attributes::{
    Durability, Eviction, HashFunction, Leases, Medium, ParseAttributeError, TableAttributes,
};
pub use id::{
    BrickId, Incarnation, NodeKey, Op, PartitionId, Position, SegmentId, Slot, TableId, View,
};
pub use key_bounds::{BOUND_BYTES_MAX, KeyBounds, KeyBoundsError};
pub use layout::Placement;
pub use partition_hasher::PartitionHasher;
pub use time::{Instant, UnixMillis};
pub use value_type::ValueType;
