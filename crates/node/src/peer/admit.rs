//! Whether an incoming connection is accepted, and what a refusal means for the node that made it.

use super::hello::{ConnectionKind, HandshakeRefused, Hello, Introduction};
use crate::address::HostPort;
use crate::host::{Common, Host, Target};
use crate::member::ClusterMember;
use brickyard_types::Incarnation;

/// Whether whoever dials is who it says, and of this cluster. `member`: none as long as this node has no cluster.
///
/// # Errors
/// What it is to be told.
pub fn admit<H: Host>(
    hello: &Hello,
    introduction: &Introduction,
    member: Option<&ClusterMember>,
    common: &Common<H>,
) -> Result<(), HandshakeRefused> {
    if hello.key == introduction.key {
        return Err(HandshakeRefused::Myself);
    }
    if let (Some(ours), Some(theirs)) = (introduction.cluster, hello.cluster)
        && ours != theirs
    {
        return Err(HandshakeRefused::Cluster(ours));
    }
    if let (Some(member), Some((id, life))) = (member, hello.node) {
        let node = member.catalog().and_then(|catalog| catalog.node(id));
        if node.is_some_and(|node| node.registration.key != hello.key) {
            return Err(HandshakeRefused::Impostor);
        }
        member
            .admit(id, life)
            .map_err(HandshakeRefused::Superseded)?;
    }
    match (hello.kind, member) {
        (ConnectionKind::Control, _) => Ok(()),
        (ConnectionKind::Stream { to, .. }, None) => Err(HandshakeRefused::Unknown(to)),
        (ConnectionKind::Stream { from, to, .. }, Some(member)) => {
            let dialer = hello.node.map(|(id, _)| id);
            let admitted = member.admit_stream(dialer, from, to, common);
            admitted.map_err(HandshakeRefused::Unknown)
        }
    }
}

/// What a refusal means for the node that has dialed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// That was its own address.
    DropSeed(HostPort),
    /// Its life is over: another process has registered as that node.
    Superseded(Incarnation),
    /// Somebody should know of it.
    Complain(String),
}

/// What it means that the target refuses this node, whose life is that one.
#[must_use]
pub fn consequence(
    target: &Target,
    refused: &HandshakeRefused,
    incarnation: Option<Incarnation>,
) -> Consequence {
    match (target, refused) {
        (Target::Seed(address), HandshakeRefused::Myself) => Consequence::DropSeed(address.clone()),
        // What the members agree on counts, also for whoever gets nothing from them any more.
        (Target::Node(_), HandshakeRefused::Superseded(present))
            if incarnation.is_some_and(|mine| mine < *present) =>
        {
            Consequence::Superseded(*present)
        }
        _ => Consequence::Complain(format!("{}{refused}", refusal_of(target))),
    }
}

/// How a complaint about a target begins.
#[must_use]
pub fn refusal_of(target: &Target) -> String {
    format!("{target:?} refuses this node: ")
}
