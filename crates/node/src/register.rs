//! This life of the node is told to the cluster, until the catalog says so.

use crate::agreement::Agreement;
use crate::entry::Entry;
use crate::host::{Common, Host, Source, Target, Urgency};
use crate::message::Message;
use brickyard_control::message::{Join, Joined, Present, ToLeader};
use brickyard_metadata::{Catalog, Node};
use brickyard_types::{Incarnation, Instant};
use std::time::Duration;

/// How soon it is said again.
const REPEAT: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Registrar {
    asked: Option<Instant>,
    /// Whom to ask while nobody is known to lead.
    next: usize,
    /// The latest life of this node that the leader told of.
    told: Option<Incarnation>,
}

impl Registrar {
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
        let join = Join {
            cluster: catalog.map(Catalog::cluster),
            after: own.map(|node| node.incarnation).max(self.told),
            registration,
        };
        if agreement.is_settled() {
            let proposed = agreement.propose(&Entry::Register(join));
            tracing::debug!(?proposed, "this node registers with itself");
            return;
        }
        let message = Message::ToLeader(ToLeader::Join(join));
        let leader = agreement.leader();
        if leader.is_some_and(|leader| common.host.send(leader, &message, Urgency::Normal)) {
            return;
        }
        let connected = common.host.connected();
        if !connected.is_empty() {
            self.next += 1;
            let target: &Target = &connected[self.next % connected.len()];
            let source = Source::Dialed(target.clone());
            common.host.reply(&source, &message, Urgency::Normal);
        }
    }

    /// The leader knows of a later life of this node than was said.
    pub(crate) fn on_present<H>(&mut self, present: Present, common: &Common<H>) {
        if present.run == common.registration.run && Some(present.incarnation) > self.told {
            self.told = Some(present.incarnation);
            self.hurry();
        }
    }

    /// Says it at once.
    pub(crate) fn hurry(&mut self) {
        self.asked = None;
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
    // Whoever only takes itself for the leader may know less than this node does.
    let knows_as_much =
        |it: &Catalog| it.cluster() == answer.cluster && it.version() <= answer.version;
    let is_for_this_process = answer.run == common.registration.run;
    answer.is_removed && is_for_this_process && catalog.is_some_and(knows_as_much)
}
