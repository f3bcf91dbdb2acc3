//! How much a program knows of what nodes can agree on, as a number.
//!
//! In:  a change. Out: the level that a program must have to read it, and the catalog that it makes.
//!
//! A node that meets an entry of the agreed log which its program does not know has to stop: going on, its catalog would be another
//! one than the others have. While a cluster is upgraded, some nodes run an earlier program; so a change is asked for only
//! where all nodes have the level that it needs (decision 0066). A node says its level when it connects.
//!
//! | Level | What came with it |
//! |---|---|
//! | 1 | everything that there was before nodes said of which level they are |
//! | 2 | limits of users: their rules, and format 3 of the catalog |
//! | 3 | hashes: records of bricks, which no change is about; a brick writes none while a node is heard that has not this level |
//! | 4 | transactions over several partitions: intents in records of bricks, and messages about them; none begins while a node is heard that has not this level |
//! | 5 | libraries of functions: their changes, and format 4 of the catalog |
//! | 6 | copies that clients keep: messages of bricks; no client tracks keys while a node is heard that has not this level |
//! | 7 | histories of tables: their changes, format 5 of the catalog, and messages of bricks about who follows them |
//! | 8 | tables with leases: their changes, and format 6 of the catalog; no lease is given while a node is heard that has not this level |
//! | 9 | hashes in parts: records of bricks; a hash is one record while a node is heard that has not this level |
//! | 10 | fields of hashes in parts that expire; such a hash is one record while a node is heard that has not this level |
//! | 11 | tables with another hash function than the slot: what makes them, format 7 of the catalog, and partitions of less than a slot |
//! | 12 | transactions over two tables: intents in records of bricks that name tables, and messages about them; none begins while a node is heard that has not this level |
//!
//! Invariant: what a change needs never grows, and no level is taken back: programs that know it are in use.

use crate::account::AccountRule;
use crate::change::{Change, TableEdit};
use brickyard_routing::Hasher;
use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Level(pub u16);

impl Level {
    /// Of a program that does not say which it is.
    pub const FIRST: Self = Self(1);

    /// Limits of users.
    pub const USER_LIMITS: Self = Self(2);

    /// Values that are hashes.
    pub const HASHES: Self = Self(3);

    /// Transactions over several partitions.
    pub const TRANSACTIONS: Self = Self(4);

    /// Libraries of functions.
    pub const FUNCTIONS: Self = Self(5);

    /// Notices about copies of keys that clients keep.
    pub const TRACKING: Self = Self(6);

    /// Histories of tables, and who follows them.
    pub const WATCHES: Self = Self(7);

    /// Tables of which clients keep what they read under leases.
    pub const LEASES: Self = Self(8);

    /// Hashes in parts.
    pub const HASH_PARTS: Self = Self(9);

    /// Hashes in parts of which fields expire.
    pub const TIMED_PARTS: Self = Self(10);

    /// Tables with another hash function than the slot.
    pub const TABLE_HASHES: Self = Self(11);

    /// Transactions over two tables.
    pub const TWO_TABLES: Self = Self(12);

    /// Of this program.
    pub const NEWEST: Self = Self::TWO_TABLES;
}

impl Default for Level {
    fn default() -> Self {
        Self::FIRST
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Change {
    /// What a program must know to make it.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::CreateTable(table)
            | Self::CreateWithHistory { table, .. }
            | Self::LeaseTable {
                table: TableEdit::Create { table, .. },
                ..
            } if table.hasher != Hasher::Slot => Level::TABLE_HASHES,
            Self::SetAccount { initial, rules, .. } => {
                let mut all = initial.iter().chain(rules);
                let has_limits =
                    all.any(|it| matches!(it, AccountRule::Limit(..) | AccountRule::ResetLimits));
                if has_limits {
                    Level::USER_LIMITS
                } else {
                    Level::FIRST
                }
            }
            Self::AddLibraries { .. } | Self::DropLibrary { .. } | Self::FlushLibraries => {
                Level::FUNCTIONS
            }
            Self::CreateWithHistory { .. } | Self::AlterWithHistory { .. } => Level::WATCHES,
            Self::LeaseTable { .. } => Level::LEASES,
            _ => Level::FIRST,
        }
    }
}

#[cfg(test)]
#[path = "level_test.rs"]
mod level_test;
