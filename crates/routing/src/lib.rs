//! Which bricks hold a key: key → slot → partition → replica group → brick.
//!
//! In:  keys, and maps that the control plane decided ([`TableMap`]). Out: a [`Location`], the
//! [`Group`] that holds it, slot ranges for clients, [`Moved`] redirects, [`Cursor`]s for SCAN; the way to a partition for who knows
//! a part of a map ([`graph`]).
//!
//! Invariants:
//! - Every routing hash lies in exactly one leaf of a [`PartitionMap`]; a map that says otherwise is
//!   refused when it is built or decoded, so lookups cannot fail.
//! - A leaf of depth 14 or less is a contiguous run of Redis Cluster slots.
//! - All keys with one `{tag}` have one routing hash, so no split ever parts them.
//!
//! Not here: who decides a map (`metadata`), what a group does with an operation (`replication`).
//! Source: Gribble et al., "Scalable, Distributed Data Structures for Internet Service
//! Construction" (OSDI 2000), section 3.1: the data partitioning map is a trie over key bits, the
//! replica group membership map a table. docs/routing.md tells the whole story.

mod crc16;
mod cursor;
mod detour;
mod error;
pub mod graph;
mod group;
mod hash;
mod lookup;
mod order;
mod partition_map;
mod parts;
mod placement;
mod prefix;
mod redirect;
mod ring;
mod shares;
mod strategy;
mod table_map;
mod target;

pub use cursor::{Cursor, ScanPoint};
pub use detour::detour;
pub use error::MapError;
pub use group::{Group, Member, NodeId, Replica, ViewChange};
pub use hash::{Hasher, KeyHasher, RoutingHash, hash_tag, slot};
pub use partition_map::{Leaf, PartitionMap};
pub use parts::{GroupRun, LeafRun, TableMapParts};
pub use placement::{Candidate, PARTITIONS_MAX, PARTITIONS_MIN, default_partitions, place};
pub use prefix::{Prefix, SlotRange};
pub use redirect::Moved;
pub use ring::ring;
pub use shares::Site;
pub use strategy::{Situation, Strategy, strategy};
pub use table_map::{Location, MapVersion, TableMap};
pub use target::target;
