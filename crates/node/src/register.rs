//! This life of the node is told to the cluster, until the catalog says so.

use crate::agreement::Agreement;
use crate::entry::Entry;
use crate::host::{Common, Host, Source, Target, Urgency};
use crate::message::Message;
use brickyard_control::message::{Join, Joined, Present, ToLeader};
use brickyard_metadata::{Catalog, CatalogVersion, ClusterId, Node, Registered};
use brickyard_routing::NodeId;
use brickyard_types::{Incarnation, Instant};
use std::time::Duration;

/// How soon it is said again.
const REPEAT: Duration = Duration::from_millis(200);

/// What a node is told that is taken in. Until it has a catalog it knows no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenIn {
    /// Into which cluster.
    pub cluster: ClusterId,
    /// As which node, in which life.
    pub registered: Registered,
    /// As of which catalog.
    pub version: CatalogVersion,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RegistrationRequest {
    asked: Option<Instant>,
    seed_contact: SeedContact,
    /// The latest life of this node that the leader told of.
    reported: Option<Incarnation>,
}

impl RegistrationRequest {
    /// Says it if it is time.
    pub(crate) fn poll<H: Host>(&mut self, common: &mut Common<H>, agreement: &mut Agreement) {
        let now = common.host.now();
        if self.asked.is_some_and(|asked| now - asked < REPEAT) {
            return;
        }
        self.asked = Some(now);
        let registration = common.registration.clone();
        let catalog = agreement.catalog();
        let own = catalog.and_then(|it| it.node_by_key(&registration.key));
        let known = catalog.map(Catalog::cluster);
        let join = Join {
            // Without it a node that was removed meanwhile would be taken in once more.
            cluster: known.or_else(|| Some(common.taken_in?.cluster)),
            after: own.map(|node| node.incarnation).max(self.reported),
            registration,
        };
        if agreement.is_settled() {
            let proposed = agreement.propose(&Entry::Register(join));
            tracing::debug!(?proposed, "this node registers with itself");
            return;
        }
        self.seed_contact.ask(
            ToLeader::Join(join),
            Urgency::Normal,
            common,
            agreement.leader(),
        );
    }

    /// The leader knows of a later life of this node than was said.
    pub(crate) fn on_present<H>(&mut self, present: Present, common: &Common<H>) {
        if present.run == common.registration.run && Some(present.incarnation) > self.reported {
            self.reported = Some(present.incarnation);
            self.hurry();
        }
    }

    /// Says it at once.
    pub(crate) fn hurry(&mut self) {
        self.asked = None;
    }
}

/// Whom to ask while there is no way to who leads: each node that this one is connected to, in turn. Who was removed while
/// it was away hears of no leader any more, and only whoever is asked tells it so.
#[derive(Debug, Default)]
pub(crate) struct SeedContact {
    next: usize,
}

impl SeedContact {
    /// Asks who leads, or one of the others if there is nobody, or no answer.
    pub(crate) fn ask<H: Host>(
        &mut self,
        message: ToLeader,
        urgency: Urgency,
        common: &mut Common<H>,
        leader: Option<NodeId>,
    ) {
        let message = Message::ToLeader(message);
        if leader.is_some_and(|leader| common.host.send(leader, &message, urgency)) {
            return;
        }
        let connected = common.host.connected();
        if !connected.is_empty() {
            self.next += 1;
            let target: &Target = &connected[self.next % connected.len()];
            let source = Source::Dialed(target.clone());
            common.host.reply(&source, &message, urgency);
        }
    }
}

/// This node, if the catalog has this very life of it.
pub(crate) fn own_node<'a, H>(catalog: &'a Catalog, common: &Common<H>) -> Option<&'a Node> {
    let node = catalog.node_by_key(&common.registration.key)?;
    (node.registration.run == common.registration.run).then_some(node)
}

/// Whether a node that comes back was removed meanwhile.
pub(crate) fn is_removed<H>(
    answer: &Joined,
    catalog: Option<&Catalog>,
    common: &Common<H>,
) -> bool {
    let taken_in = common.taken_in.map(|it| (it.cluster, it.version));
    let known = catalog.map(|it| (it.cluster(), it.version())).or(taken_in);
    // Whoever only takes itself for the leader may know less than this node does.
    let knows_as_much = |(cluster, version)| cluster == answer.cluster && version <= answer.version;
    let is_for_this_process = answer.run == common.registration.run;
    answer.is_removed && is_for_this_process && known.is_some_and(knows_as_much)
}

/// As which other node the cluster has this very process. It was removed before it heard that it had been taken in, and
/// had asked again by then, as somebody whom no cluster knows.
pub(crate) fn other_number<H>(me: NodeId, answer: &Joined, common: &Common<H>) -> Option<NodeId> {
    let registered = answer.outcome.as_ref().ok()?;
    let is_for_this_process = answer.run == common.registration.run;
    let is_later = common.taken_in?.version < answer.version;
    (is_for_this_process && is_later && registered.node != me).then_some(registered.node)
}
