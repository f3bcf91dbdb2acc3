//! What a placement has to say: which bricks should hold each partition of a table.
//!
//! In: a [`Situation`]: the bricks that may, the number of copies, where the partitions are on the circle of hashes, who
//! has them now. Out: for each partition who should, its primary first.
//!
//! Everything else is the same for all placements: moves, their order and pace, failures (`control`); what is shown of
//! them. A new one is an implementation of [`Strategy`], a word in `types::Placement`, and a line in [`strategy`].
//!
//! What the rest relies on, whatever the situation (`strategy_test.rs` looks at all of them):
//! - Members are among the sites with a weight, on different nodes, and as many as there are copies, or nodes.
//! - It is a pure function: every caller gets the same result, and a partition in the middle of a move has the same target as before.
//! - It comes to rest: carried out again and again, a target is soon its own target.
//! - Nobody is to take a copy over from another brick of its own node, which would have none in between (`detour`).

use crate::detour::detour;
use crate::group::{Member, Replica};
use crate::partition_map::Leaf;
use crate::placement::{Candidate, place};
use crate::ring::ring;
use crate::shares::Site;
use crate::target::target;
use brickyard_types::{Incarnation, Placement};
use std::fmt;

/// What a target is decided by.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The bricks that may hold something; those without a weight may not.
    pub sites: &'a [Site<'a>],
    /// Copies of each partition that are asked for.
    pub replicas: u8,
    /// The partitions, in order.
    pub leaves: &'a [Leaf],
    /// Who has each of them: the primary first, learners last. Of a new table nobody has any.
    pub present: &'a [Vec<Member>],
}

/// A placement.
pub trait Strategy: fmt::Debug {
    /// The members that each partition should have, the primary first.
    fn target(&self, situation: &Situation<'_>) -> Vec<Vec<Member>>;

    /// Where a new table's partitions begin.
    fn begin(&self, situation: &Situation<'_>) -> Vec<Vec<Member>> {
        self.target(situation)
    }

    /// Whether any member may be the primary, as long as each brick has its share of them. Otherwise the first one of the
    /// target is.
    fn evens_primaries(&self) -> bool {
        false
    }
}

/// The strategy of a placement.
#[must_use]
pub fn strategy(placement: Placement) -> Box<dyn Strategy> {
    match placement {
        Placement::Even => Box::new(Even),
        Placement::Ring { points } => Box::new(Ring { points }),
    }
}

/// Shares by weight, few moves (`target`, `placement`).
#[derive(Debug)]
struct Even;

impl Strategy for Even {
    fn target(&self, situation: &Situation<'_>) -> Vec<Vec<Member>> {
        target(situation.sites, situation.replicas, situation.present)
    }

    /// In runs, so that a brick is one range of slots to clients.
    fn begin(&self, situation: &Situation<'_>) -> Vec<Vec<Member>> {
        let candidate = |site: &Site<'_>| Candidate {
            replica: Replica {
                member: site.member,
                incarnation: Incarnation(0),
            },
            weight: site.weight,
        };
        let candidates: Vec<Candidate> = situation.sites.iter().map(candidate).collect();
        let groups = place(
            situation.leaves.len() as u32,
            &candidates,
            situation.replicas,
        );
        let members = groups.iter().map(|group| group.in_sync());
        members
            .map(|replicas| replicas.map(|replica| replica.member).collect())
            .collect()
    }

    fn evens_primaries(&self) -> bool {
        true
    }
}

/// Consistent hashing (`ring`).
#[derive(Debug)]
struct Ring {
    points: u16,
}

impl Strategy for Ring {
    fn target(&self, situation: &Situation<'_>) -> Vec<Vec<Member>> {
        let places = situation.leaves.iter().map(|leaf| leaf.prefix.first().0);
        let wanted = ring(
            situation.sites,
            situation.replicas,
            places,
            u32::from(self.points),
        );
        let pairs = wanted.into_iter().zip(situation.present).enumerate();
        pairs
            .map(|(leaf, (wanted, present))| detour(wanted, present, situation.sites, leaf))
            .collect()
    }
}

#[cfg(test)]
#[path = "strategy_test.rs"]
mod strategy_test;
