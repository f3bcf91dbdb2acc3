//! The node's membership state, for HTTP and for tasks that wait for it.

use crate::disk::Timing;
use brickyard_node::MemberView;
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterView {
    pub(crate) membership: MembershipState,
    /// Why other nodes did not take this one's connections.
    pub(crate) refusals: Vec<String>,
    /// How long entries of the control log take until they are stored.
    pub(crate) log_timing: Arc<Timing>,
}

/// In a cluster, or not yet.
#[derive(Clone, Debug)]
pub(crate) enum MembershipState {
    /// What it waits for.
    Bootstrap(String),
    Member(MemberView),
}

impl Default for MembershipState {
    fn default() -> Self {
        Self::Bootstrap("its start".to_owned())
    }
}

impl ClusterView {
    /// Whether the node is registered and its bricks may act.
    pub(crate) fn is_serving(&self) -> bool {
        match &self.membership {
            MembershipState::Bootstrap(_) => false,
            MembershipState::Member(it) => it.incarnation.is_some() && !it.lease_left.is_zero(),
        }
    }

    /// What the node waits for; nothing if it serves.
    pub(crate) fn waits_for(&self) -> Option<String> {
        match &self.membership {
            MembershipState::Bootstrap(what) => Some(what.clone()),
            MembershipState::Member(it) if it.incarnation.is_none() => {
                Some("the cluster to take note of this start".to_owned())
            }
            MembershipState::Member(it) if it.lease_left.is_zero() => {
                Some("a lease from the leader of the control plane".to_owned())
            }
            MembershipState::Member(_) => None,
        }
    }
}
