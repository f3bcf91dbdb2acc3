//! What the leader asks its caller to do.

use crate::lease_keeper::RoundToken;
use crate::membership::MembershipChange;
use crate::message::ToNode;
use brickyard_metadata::Change;
use brickyard_routing::NodeId;

/// Names a proposal, so that the caller can report its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalToken(pub u64);

/// An action of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlOutput {
    /// Ask a majority of voters whether this node still leads; note first that it does
    /// ([`crate::LeaderContact::on_leader`]). Then [`crate::Controller::on_quorum`].
    Round(RoundToken),
    /// Propose a change; then [`crate::Controller::on_outcome`].
    Propose(ProposalToken, Change),
    /// Change which nodes take part in agreement; then [`crate::Controller::on_membership`].
    Membership(MembershipChange),
    /// Let another voter lead: this node is about to stop.
    TransferLeader(NodeId),
    /// Send to a node; it may be this one.
    Send(NodeId, ToNode),
}
