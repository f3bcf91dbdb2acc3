//! What a replicator is told at its start.

use brickyard_routing::Replica;
use std::time::Duration;

/// What a replicator is told at its start.
#[derive(Clone, Debug)]
pub struct ReplicatorConfig {
    /// This brick, in this life; incarnation 0 until it is registered
    /// ([`Replicator::set_me`](crate::Replicator::set_me)).
    pub me: Replica,
    /// A required member that does not vote for so long, while something waits for it, is to be evicted, whatever others
    /// do.
    pub eviction_timeout: Duration,
    /// After so long it is to be evicted where others show that it need not take so long; and a brick whose own log stands
    /// still finds that out a little sooner. More where waits were long of late, up to `eviction_timeout`.
    pub suspect_after: Duration,
    /// How long after a refusal, or a refused append, it is tried again.
    pub retry: Duration,
    /// How often requests to the control plane, and to dial, are repeated.
    pub repeat: Duration,
    /// How often a stream carries a ping.
    pub ping: Duration,
    /// A stream on which nothing was heard for so long is closed.
    pub silence_max: Duration,
    /// Copies of a catch-up wait while so many bytes are to be sent on their link.
    pub copy_bytes_max: usize,
    /// New writes had better wait while so many bytes are to be sent to a required member
    /// ([`Replicator::is_congested`](crate::Replicator::is_congested)).
    pub output_bytes_soft: usize,
    /// A link with more bytes to be sent than this is closed: its peer does not read.
    pub output_bytes_max: usize,
}

impl ReplicatorConfig {
    /// Whether anybody is suspected before `eviction_timeout`.
    pub(crate) fn suspects_early(&self) -> bool {
        self.suspect_after < self.eviction_timeout
    }

    /// The defaults for this replica.
    #[must_use]
    pub const fn new(me: Replica) -> Self {
        Self {
            me,
            eviction_timeout: Duration::from_secs(5),
            suspect_after: Duration::from_secs(1),
            retry: Duration::from_millis(100),
            repeat: Duration::from_secs(1),
            ping: Duration::from_millis(500),
            silence_max: Duration::from_millis(1_500),
            copy_bytes_max: 4 << 20,
            output_bytes_soft: 32 << 20,
            output_bytes_max: 512 << 20,
        }
    }
}
