//! Who holds a partition: the replica group, its view, its members, and the change under way.

use brickyard_types::{BrickId, Incarnation, View};
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

/// A brick in one life of its node: what views, streams, votes and leases name (rule `members name an incarnation`).
///
/// A process that comes back has lost what it knew of views and of prepared operations, so it is somebody
/// else, although it is the same brick.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Replica {
    /// The brick.
    pub member: Member,
    /// The life of its node.
    pub incarnation: Incarnation,
}

impl fmt::Display for Replica {
    /// `node/brick@incarnation`, such as `3/0@17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.member, self.incarnation)
    }
}

/// One partition's membership in its last effective view, and the change that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The number of this membership.
    pub view: View,
    /// The history that the partition's operations belong to; forced recovery begins a new one (rule
    /// `forced recovery begins a generation`).
    pub generation: u32,
    /// The member that orders the partition's operations.
    pub primary: Replica,
    /// The other in-sync members: their votes are needed and they may serve reads.
    pub backups: Vec<Replica>,
    /// Members that are catching up: they vote for nothing and serve nothing.
    pub learners: Vec<Replica>,
    /// The next view, proposed and not effective yet; nobody acts on it but those that it removes, who
    /// stop, and its primary, who accepts (rules `a proposed view only stops` and `a primary accepts its view`).
    pub change: Option<Box<ViewChange>>,
}

/// A view that was proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewChange {
    /// Its number: above every one that was effective or proposed before.
    pub view: View,
    /// The history that it goes on with; another than the group's begins anew (rules
    /// `forced recovery begins a generation` and `lost memory begins a generation`).
    pub generation: u32,
    /// Its primary.
    pub primary: Replica,
    /// Its other in-sync members.
    pub backups: Vec<Replica>,
    /// Its learners.
    pub learners: Vec<Replica>,
    /// Who must have stopped, or have lost its lease, before it takes effect (rule `removed members are fenced`).
    pub fenced: Vec<Replica>,
    /// The catalog's version that first had it: acknowledgements name versions.
    pub proposed_at: u64,
}

impl ViewChange {
    /// The members that will hold everything that was acknowledged, the primary first.
    pub fn in_sync(&self) -> impl Iterator<Item = Replica> {
        std::iter::once(self.primary).chain(self.backups.iter().copied())
    }
}

impl Group {
    /// A group of `primary` and `backups` in its first view.
    #[must_use]
    pub const fn first(primary: Replica, backups: Vec<Replica>) -> Self {
        Self {
            view: View(1),
            generation: 1,
            primary,
            backups,
            learners: Vec::new(),
            change: None,
        }
    }

    /// The members that hold everything that was acknowledged, the primary first.
    pub fn in_sync(&self) -> impl Iterator<Item = Replica> {
        std::iter::once(self.primary).chain(self.backups.iter().copied())
    }

    /// All members, the primary first, learners last.
    pub fn members(&self) -> impl Iterator<Item = Replica> {
        self.in_sync().chain(self.learners.iter().copied())
    }

    /// Whether the same bricks stand in the same roles, whatever the view.
    #[must_use]
    pub fn has_same_roles(&self, other: &Self) -> bool {
        self.primary == other.primary
            && self.backups == other.backups
            && self.learners == other.learners
    }

    /// Whether one brick leads both and the same ones follow, in whatever order they are named.
    #[must_use]
    pub fn has_same_members(&self, other: &Self) -> bool {
        let followers = |group: &Self| {
            let mut replicas = group.backups.clone();
            replicas.sort_unstable();
            let mut learners = group.learners.clone();
            learners.sort_unstable();
            (replicas, learners)
        };
        self.primary == other.primary && followers(self) == followers(other)
    }

    /// The member that is named twice, if there is one.
    pub(crate) fn repeated_member(&self) -> Option<Member> {
        let members: Vec<Member> = self.members().map(|replica| replica.member).collect();
        members
            .iter()
            .enumerate()
            .find(|&(at, member)| members[..at].contains(member))
            .map(|(_, member)| *member)
    }
}
