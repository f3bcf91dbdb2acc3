//! Which replica a read goes to: locality first, load where it matters.
//!
//! In:  the key's hash, and of each member of its replica group an identity, its load and whether it answers.
//! Out: the member to ask.
//!
//! Locality-aware request distribution: a key's reads go to one member, so that each replica's cache holds
//! its own share of the keys and the caches of all of them add up. They move only while that member is
//! overloaded: above `high` with another one below `low`, or above twice `high` whatever the others do.
//!
//! The paper's front end keeps a table from targets to servers. Here the member is a function of the key and
//! the members (rendezvous hashing), so that all clients agree without talking, and when a member is lost only
//! its own keys find another.
//!
//! Source: Pai et al., "Locality-Aware Request Distribution in Cluster-based Network Servers" (ASPLOS 1998),
//! section 2.4; Thaler and Ravishankar, "Using name-based mappings to increase hit rates" (1998).

use crate::random::mix;

/// When a read leaves its preferred replica; loads are requests of this client that are not answered yet.
///
/// ```
/// use brickyard_client::Lard;
/// assert!(Lard::default().low < Lard::default().high);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lard {
    /// A replica with fewer has capacity to spare.
    pub low: usize,
    /// A replica with more is overloaded, if another one has capacity to spare.
    pub high: usize,
}

impl Default for Lard {
    fn default() -> Self {
        Self { low: 64, high: 192 }
    }
}

/// A member of a replica group as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Says who it is, the same on every client.
    pub(crate) identity: u64,
    pub(crate) load: usize,
    pub(crate) is_up: bool,
}

impl Lard {
    /// The place of the member to ask; nothing if none is up.
    pub(crate) fn choose(self, key_hash: u64, members: &[Candidate]) -> Option<usize> {
        let up = || members.iter().enumerate().filter(|(_, it)| it.is_up);
        let (preferred, target) = up().max_by_key(|(_, it)| mix(key_hash ^ it.identity))?;
        let (least, other) = up().min_by_key(|(_, it)| it.load)?;
        let is_overloaded = (target.load > self.high && other.load < self.low)
            || target.load >= 2 * self.high.max(1);
        Some(if is_overloaded && other.load < target.load {
            least
        } else {
            preferred
        })
    }
}

#[cfg(test)]
#[path = "lard_test.rs"]
mod lard_test;
