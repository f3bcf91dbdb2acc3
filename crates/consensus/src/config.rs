//! What a node's part in the agreement is set to.

/// Ticks are the caller's: with one every 50 ms the defaults elect within about a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsensusConfig {
    /// This node's id, never 0 and never used by another node.
    pub id: u64,
    /// Election timeouts are drawn from it, with the id and the term.
    pub seed: u64,
    /// A follower that hears nothing from a leader stands after so many ticks, or up to twice as many.
    pub election_ticks: u32,
    /// A leader is heard every so many ticks.
    pub heartbeat_ticks: u32,
    /// A disk that owes something for so many ticks is bad: a leader gives the lead up then, if others have stored what it has not.
    pub disk_ticks: u32,
    /// Entries in one message, in bytes, unless a single one is larger.
    pub message_bytes_max: u64,
    /// Proposals that may wait for their commit, in bytes; more are refused.
    pub uncommitted_bytes_max: u64,
    /// Messages with entries on their way to one follower.
    pub in_flight_max: usize,
    /// A snapshot is asked for after so many applied entries.
    pub snapshot_after_entries: u64,
    /// Entries that stay in memory behind a snapshot, so that a follower that is only a little
    /// behind does not need the snapshot.
    pub entries_kept: u64,
    /// A follower that was sent a snapshot and did not answer for so many ticks is sent it again.
    pub snapshot_ticks: u32,
    /// How many committed entries a learner may lack and still be promoted.
    pub promote_behind_max: u64,
}

impl ConsensusConfig {
    /// The defaults.
    #[must_use]
    pub fn new(id: u64, seed: u64) -> Self {
        Self {
            id,
            seed,
            election_ticks: 10,
            heartbeat_ticks: 3,
            disk_ticks: 10,
            message_bytes_max: 1 << 20,
            uncommitted_bytes_max: 16 << 20,
            in_flight_max: 64,
            snapshot_after_entries: 4096,
            entries_kept: 256,
            snapshot_ticks: 200,
            promote_behind_max: 100,
        }
    }

    /// As the library wants it; `applied` is the index that the state machine starts from.
    pub(crate) fn library(&self, applied: u64) -> raft::Config {
        raft::Config {
            id: self.id,
            election_tick: self.election_ticks as usize,
            heartbeat_tick: self.heartbeat_ticks as usize,
            applied,
            max_size_per_msg: self.message_bytes_max,
            max_inflight_msgs: self.in_flight_max,
            check_quorum: true,
            pre_vote: true,
            max_uncommitted_size: self.uncommitted_bytes_max,
            max_committed_size_per_ready: self.uncommitted_bytes_max,
            ..raft::Config::default()
        }
    }
}

#[cfg(test)]
#[path = "config_test.rs"]
mod config_test;
