//! How long things may take.

use std::time::Duration;

/// The control plane's times and bounds. All nodes of a cluster should have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// How long a grant lasts. It bounds how long a partition is without its lost primary.
    pub lease: Duration,
    /// How often a node asks for an extension.
    pub renew: Duration,
    /// How long a brick's loop may stand still before it counts as hung (rule `a hanging loop loses its lease`).
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
    /// How long after nodes or their weights changed tables that have too few partitions for their bricks are split; 0:
    /// never.
    pub split_after: Duration,
    /// Most partitions of one brick that are split at a time for that.
    pub splits_per_brick: usize,
    /// How long siblings on different bricks have to be small before they are brought together; 0: never.
    pub merge_after: Duration,
    /// How long that may take.
    pub colocate_timeout: Duration,
    /// What is done about hot partitions.
    pub hot: HotConfig,
}

/// What is done about partitions that take most of a busy brick's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotConfig {
    /// How much of a core's time a brick may be busy, in hundredths, before it is relieved of hot partitions; 0: always.
    pub busy: u8,
    /// Most extra copies that a hot partition gets.
    pub replicas: u8,
    /// How long something that load was the reason of is not needed before it is given back.
    pub cool: Duration,
}

impl Default for ControlConfig {
    fn default() -> Self {
        Self {
            // A node has its own, and so has a run of the simulator: these two are round figures for tests.
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
            split_after: Duration::from_secs(30),
            splits_per_brick: 4,
            merge_after: Duration::from_secs(60),
            colocate_timeout: Duration::from_secs(300),
            hot: HotConfig::default(),
        }
    }
}

impl Default for HotConfig {
    fn default() -> Self {
        Self {
            busy: 70,
            replicas: 2,
            cool: Duration::from_secs(300),
        }
    }
}

impl ControlConfig {
    /// What is added to a lease wherever its end is awaited: two clocks may differ in rate by 1 %, and
    /// neither is read at the very instant that it stands for.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.lease / 100 + Duration::from_millis(10)
    }

    /// After this long no brick acts on a lease any more that began now or earlier.
    #[must_use]
    pub fn lease_and_margin(&self) -> Duration {
        self.lease + self.margin()
    }

    /// How long a brick's loop may stand still before no lease is asked for in its name. It keeps the one that it has.
    #[must_use]
    pub fn hang_max(&self) -> Duration {
        self.eviction_timeout.min(self.lease / 3)
    }

    /// For how long a brick has to be too busy before it is relieved, and is left alone after that: what bricks measure is of
    /// some seconds.
    #[must_use]
    pub fn hot_pause(&self) -> Duration {
        self.hot.cool.min(Duration::from_secs(10))
    }

    /// What a hand-over has to make better, in thousandths of a core: a seventh of what is too busy.
    #[must_use]
    pub fn hot_step(&self) -> u64 {
        u64::from(self.hot.busy) * 10 / 7
    }

    /// A partition that takes less than this, in thousandths of a core, is cool: half of what makes one hot.
    #[must_use]
    pub fn cool_below(&self) -> u64 {
        u64::from(self.hot.busy) * 10 / 4
    }

    /// How long a leader waits for a node's first request before it counts the node as down: the node has
    /// to find the leader first.
    #[must_use]
    pub fn first_request_timeout(&self) -> Duration {
        self.renew * 3
    }

    /// # Panics
    /// If the control plane cannot work with these values: none of them is an operator's.
    pub(crate) fn check(&self) {
        assert!(
            self.renew < self.lease,
            "a lease of {:?} is renewed every {:?}",
            self.lease,
            self.renew
        );
        assert!(self.batch > 0, "a proposal of no decisions");
        assert!(self.voters > 0, "an agreement without voters");
    }
}

#[cfg(test)]
#[path = "config_test.rs"]
mod config_test;
