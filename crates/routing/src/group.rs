//! Who holds a partition: the replica group, its view and its members.

use brickyard_types::{BrickId, View};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A node of the cluster, for ever: numbered by the control plane when it first registers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A brick of a node: what a replica group is made of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// The brick within it.
    pub brick: BrickId,
}

impl fmt::Display for Member {
    /// `node/brick`, such as `3/0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.brick)
    }
}

/// One partition's membership in one view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The number of this membership.
    pub view: View,
    /// The member that orders the partition's operations.
    pub primary: Member,
    /// The other in-sync members: their votes are needed and they may serve reads.
    pub backups: Vec<Member>,
    /// Members that are catching up: they vote for nothing and serve nothing.
    pub learners: Vec<Member>,
}

impl Group {
    /// A group of `primary` and `backups` in its first view.
    #[must_use]
    pub const fn first(primary: Member, backups: Vec<Member>) -> Self {
        Self {
            view: View(1),
            primary,
            backups,
            learners: Vec::new(),
        }
    }

    /// The members that hold everything that was acknowledged, the primary first.
    pub fn in_sync(&self) -> impl Iterator<Item = Member> {
        std::iter::once(self.primary).chain(self.backups.iter().copied())
    }

    /// All members, the primary first, learners last.
    pub fn members(&self) -> impl Iterator<Item = Member> {
        self.in_sync().chain(self.learners.iter().copied())
    }

    /// Whether the same bricks stand in the same roles, whatever the view.
    #[must_use]
    pub fn has_same_roles(&self, other: &Self) -> bool {
        self.primary == other.primary
            && self.backups == other.backups
            && self.learners == other.learners
    }

    /// The member that is named twice, if there is one.
    pub(crate) fn repeated_member(&self) -> Option<Member> {
        let members: Vec<Member> = self.members().collect();
        members
            .iter()
            .enumerate()
            .find(|&(at, member)| members[..at].contains(member))
            .map(|(_, member)| *member)
    }
}
