//! How long things may take.

use std::time::Duration;

/// The control plane's times and bounds. All nodes of a cluster should have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a grant lasts. It bounds how long a partition is without its lost primary.
    pub lease: Duration,
    /// How often a node asks for an extension.
    pub renew: Duration,
    /// How long a brick's loop may stand still before it counts as hung (PROTOCOL rule 23).
    pub eviction_timeout: Duration,
    /// How long a node that is down has its place kept: what it holds is spared a full copy.
    pub replace_after: Duration,
    /// How long a member that was too slow stays out before it may learn again.
    pub evict_pause: Duration,
    /// How long between two steps of the balance of primaries.
    pub balance_pause: Duration,
    /// Most primaries that one step of the balance moves.
    pub balance_step: usize,
    /// Voters to have if there are as many nodes: 1, 3 or 5.
    pub voters: usize,
    /// Most decisions of one proposal: it has to fit into one entry of the log.
    pub batch: usize,
    /// Most partitions that one brick learns at a time.
    pub learners_per_brick: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lease: Duration::from_millis(1_500),
            renew: Duration::from_millis(300),
            eviction_timeout: Duration::from_secs(2),
            replace_after: Duration::from_secs(30),
            evict_pause: Duration::from_secs(10),
            balance_pause: Duration::from_secs(1),
            balance_step: 32,
            voters: 3,
            batch: 4_096,
            learners_per_brick: 64,
        }
    }
}

impl Config {
    /// What is added to a lease wherever its end is awaited: two clocks may differ in rate by 1 %, and
    /// neither is read at the very instant that it stands for.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.lease / 100 + Duration::from_millis(10)
    }

    /// After this long nobody acts on a lease any more that began now or earlier.
    #[must_use]
    pub fn lease_and_margin(&self) -> Duration {
        self.lease + self.margin()
    }

    /// How long a leader waits for a node's first request before it counts the node as down: the node has
    /// to find the leader first.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.renew * 3
    }
}
