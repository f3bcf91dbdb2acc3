//! How far other nodes are behind what a brick leads, for whoever watches.
//!
//! In:  once a second, what the replicator says of each member of each partition. Out: sums by table and node, which any
//!      thread may read.
//!
//! Invariant: the loop waits for no reader: figures that somebody looks at this moment are left as they are, for a second.

use brickyard_replication::{MemberLag, Replicator};
use brickyard_routing::NodeId;
use brickyard_types::TableId;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// Whose figures they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FollowerKey {
    /// The table whose partitions are followed.
    pub table: TableId,
    /// The node that follows.
    pub node: NodeId,
    /// Its copies catch up; else they are in sync.
    pub is_learner: bool,
}

/// How a node's copies stand, of those partitions of a table that the brick leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowerLag {
    /// How many there are.
    pub copies: u64,
    /// How many of them do not get the records as they are made: there is no stream, or they refused.
    pub out_of_step: u64,
    /// Operations that they have not confirmed, all together.
    pub operations: u64,
    /// For how long the oldest of those has waited for the node.
    pub waited: Duration,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Followers(RwLock<Arc<BTreeMap<FollowerKey, FollowerLag>>>);

impl Followers {
    /// As of the last second or so.
    #[must_use]
    pub fn all(&self) -> Arc<BTreeMap<FollowerKey, FollowerLag>> {
        let all = self.0.read();
        all.map(|all| Arc::clone(&all)).unwrap_or_default()
    }

    pub(crate) fn publish(&self, replicator: &Replicator) {
        let all = Arc::new(sums(replicator.lags()));
        if let Ok(mut published) = self.0.try_write() {
            *published = all;
        }
    }
}

fn sums(lags: impl Iterator<Item = MemberLag>) -> BTreeMap<FollowerKey, FollowerLag> {
    let mut sums: BTreeMap<FollowerKey, FollowerLag> = BTreeMap::new();
    for lag in lags {
        let follower = FollowerKey {
            table: lag.table,
            node: lag.replica.member.node,
            is_learner: lag.is_learner,
        };
        let sum = sums.entry(follower).or_default();
        sum.copies += 1;
        sum.out_of_step += u64::from(!lag.is_in_step);
        sum.operations += lag.operations;
        sum.waited = sum.waited.max(lag.waited);
        assert!(sum.out_of_step <= sum.copies, "{follower:?}: {sum:?}");
    }
    sums
}

#[cfg(test)]
mod followers_test {
    use super::*;
    use brickyard_routing::{Member, Replica};
    use brickyard_types::{BrickId, Incarnation};

    fn lag(node: u32, brick: u32, operations: u64, waited_ms: u64) -> MemberLag {
        MemberLag {
            table: TableId(1),
            replica: Replica {
                member: Member {
                    node: NodeId(node),
                    brick: BrickId(brick),
                },
                incarnation: Incarnation(1),
            },
            is_learner: false,
            is_in_step: operations < 5,
            operations,
            waited: Duration::from_millis(waited_ms),
        }
    }

    #[test]
    fn copies_of_a_node_are_added_up_and_the_longest_wait_counts() {
        let learner = MemberLag {
            is_learner: true,
            ..lag(2, 0, 100, 0)
        };
        let lags = [
            lag(2, 0, 3, 10),
            lag(2, 1, 5, 400),
            lag(3, 0, 0, 0),
            learner,
        ];
        let sums = sums(lags.into_iter());
        let of = |node, is_learner| {
            sums[&FollowerKey {
                table: TableId(1),
                node: NodeId(node),
                is_learner,
            }]
        };
        let backups = FollowerLag {
            copies: 2,
            out_of_step: 1,
            operations: 8,
            waited: Duration::from_millis(400),
        };
        assert_eq!(of(2, false), backups);
        assert_eq!(of(2, true).operations, 100);
        assert_eq!(of(3, false).operations, 0);
        assert_eq!(sums.len(), 3);
    }
}
