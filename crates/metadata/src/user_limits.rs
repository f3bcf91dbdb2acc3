//! How much of each node a user may take.
//!
//! In:  a limit that is set. Out: the limits, or why that one cannot be.
//!
//! Invariant: each is at most its bound: more than that no node gives anyway.
//!
//! Not here: who counts (`brick/src/quota.rs`).

use serde::{Deserialize, Serialize};

/// Most connections that a limit can name: more than a node has descriptors.
const CONNECTIONS_MAX: u64 = 1_000_000;

/// Most operations a second that a limit can name: one takes 100 ns then, which is what a rate is counted in to 1 %.
const OPERATIONS_MAX: u64 = 10_000_000;

/// Most bytes a second that a limit can name: a request of the shortest kind takes 3 ns then.
const BYTES_MAX: u64 = 10_000_000_000;

/// What a limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limited {
    /// Connections at a time.
    Connections,
    /// Operations a second.
    Operations,
    /// Bytes a second, of requests and replies.
    Bytes,
}

/// See the module. They are a node's: each node counts for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UserLimits {
    /// Connections at a time; 0: no limit.
    pub connections: u64,
    /// Operations a second; 0: no limit.
    pub operations: u64,
    /// Bytes a second, of requests and replies; 0: no limit.
    pub bytes: u64,
}

impl UserLimits {
    /// No limit.
    pub const NONE: Self = Self {
        connections: 0,
        operations: 0,
        bytes: 0,
    };

    /// Whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Sets one; 0 takes it away.
    ///
    /// # Errors
    /// It is too high for a limit.
    pub fn set(&mut self, what: Limited, most: u64) -> Result<(), &'static str> {
        let mut changed = *self;
        let limit = match what {
            Limited::Connections => &mut changed.connections,
            Limited::Operations => &mut changed.operations,
            Limited::Bytes => &mut changed.bytes,
        };
        *limit = most;
        changed.check()?;
        *self = changed;
        Ok(())
    }

    /// What is wrong with them.
    ///
    /// # Errors
    /// One is too high.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.connections > CONNECTIONS_MAX {
            return Err(
                "a limit of connections is 1,000,000 at most; 0 is no limit (and maxclients counts)",
            );
        }
        if self.operations > OPERATIONS_MAX {
            return Err("a limit of operations a second is 10,000,000 at most; 0 is no limit");
        }
        if self.bytes > BYTES_MAX {
            return Err("a limit of bytes a second is 10,000,000,000 at most; 0 is no limit");
        }
        Ok(())
    }
}
