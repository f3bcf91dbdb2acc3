//! A node without a cluster: it finds one and is taken in, or founds one with others.
//!
//! In:  who is met, what they say, ticks. Out: [`BootstrapOutcome`], once.
//!
//! Not here: who promises what to whom (`discovery`), making the cluster's log (`storage`), connections.

use crate::address::HostPort;
use crate::discovery::{Discovery, DiscoveryMessage, DiscoveryStep, Kept};
use crate::host::{Common, Host, Source, Urgency};
use crate::message::Message;
use crate::register::TakenIn;
use brickyard_control::message::{Join, Joined, Present, ToLeader, ToNode};
use brickyard_metadata::{ClusterId, NodeKey};
use brickyard_types::{Incarnation, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often this node says how it stands, and asks to be taken in.
const REPEAT: Duration = Duration::from_millis(150);

/// How often the operator is told that it still waits.
const REMIND: Duration = Duration::from_secs(10);

/// Most addresses that are tried because others tell of them.
const HEARSAY_MAX: usize = 256;

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BootstrapOutcome {
    /// This node founds the cluster.
    Found,
    /// It was taken in.
    Joined(TakenIn),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Bootstrap {
    me: NodeKey,
    discovery: Discovery,
    seeds: Vec<HostPort>,
    /// The latest connection to each node that has said who it is.
    met: BTreeMap<NodeKey, Source>,
    /// Connections to members of a cluster.
    members: Vec<(Source, ClusterId)>,
    hearsay: BTreeSet<HostPort>,
    next: usize,
    last_sent: Option<Instant>,
    reminded: Instant,
    /// What this node was told last, and is not told again.
    refusals: BTreeSet<String>,
    /// The latest life of this node that the cluster told of.
    after: Option<Incarnation>,
    ended: Option<BootstrapOutcome>,
}

impl Bootstrap {
    /// A node that others reach at `address`, and that looks for a cluster at `seeds`; `expect`: how many found
    /// one together, 0: this one founds none.
    pub(crate) fn new<H: Host>(
        address: HostPort,
        seeds: Vec<HostPort>,
        expect: u32,
        kept: Kept,
        common: &mut Common<H>,
    ) -> Self {
        for seed in &seeds {
            common.host.add_seed(seed);
        }
        let list: Vec<String> = seeds.iter().map(ToString::to_string).collect();
        tracing::info!(seeds = list.join(" "), expect, "looking for a cluster");
        let me = common.registration.key;
        Self {
            me,
            discovery: Discovery::new(me, address, expect, kept),
            seeds,
            met: BTreeMap::new(),
            members: Vec::new(),
            hearsay: BTreeSet::new(),
            next: 0,
            last_sent: None,
            reminded: common.host.now(),
            refusals: BTreeSet::new(),
            after: None,
            ended: None,
        }
    }

    /// How it came out, once it has.
    pub(crate) fn take_ended(&mut self) -> Option<BootstrapOutcome> {
        self.ended.take()
    }

    /// What of it has to outlive the process once it was taken in.
    pub(crate) fn joined(&mut self, cluster: ClusterId) -> Kept {
        self.discovery.set_joined(cluster)
    }

    /// What it waits for, in words.
    pub(crate) fn waits_for(&self) -> String {
        if self.members.is_empty() {
            format!(
                "a cluster at the addresses in join, or enough nodes to found one: {} of {} others are there",
                self.discovery.others(),
                self.seeds.len()
            )
        } else {
            "the cluster to take this node in".to_owned()
        }
    }

    /// A connection that this node made is there, and the node at its other end says who it is.
    pub(crate) fn on_welcome<H: Host>(
        &mut self,
        source: Source,
        key: NodeKey,
        cluster: Option<ClusterId>,
        common: &mut Common<H>,
    ) {
        if let Some(cluster) = cluster {
            self.on_cluster(source.clone(), cluster);
        }
        self.met.insert(key, source);
        self.carry_out(common);
    }

    /// A connection is gone.
    pub(crate) fn forget(&mut self, source: &Source) {
        self.met.retain(|_, it| it != source);
        self.members.retain(|(it, _)| it != source);
    }

    /// Tells the operator what stands in the way, once.
    pub(crate) fn complain(&mut self, what: String) {
        if self.refusals.insert(what.clone()) {
            tracing::error!("{what}");
        }
    }

    fn on_cluster(&mut self, source: Source, cluster: ClusterId) {
        match self.discovery.joined() {
            Some(joined) if joined != cluster => {
                let what = format!(
                    "cluster {cluster} answers at an address in join, and this node was taken into \
                     cluster {joined}: correct join, or start with an empty data directory"
                );
                self.complain(what);
            }
            _ if self.members.iter().any(|(it, _)| *it == source) => {}
            _ => {
                self.last_sent = None;
                self.members.push((source, cluster));
            }
        }
    }

    /// A node says something.
    pub(crate) fn on_message<H: Host>(
        &mut self,
        source: Source,
        message: Message,
        common: &mut Common<H>,
    ) {
        self.take(source, message, common);
        self.carry_out(common);
    }

    fn take<H: Host>(&mut self, source: Source, message: Message, common: &mut Common<H>) {
        match message {
            Message::Discovery(message) => {
                if let DiscoveryMessage::Status(status) = &message {
                    if status.key == self.me {
                        return;
                    }
                    if let Some(cluster) = status.cluster {
                        self.on_cluster(source.clone(), cluster);
                    }
                    self.hear_of(&status.knows, common);
                    if matches!(source, Source::Arrived(_)) {
                        let own =
                            Message::Discovery(DiscoveryMessage::Status(self.discovery.status()));
                        common.host.reply(&source, &own, Urgency::Normal);
                    }
                    self.met.insert(status.key, source);
                }
                self.discovery.on_message(common.host.now(), message);
            }
            Message::ToNode(ToNode::Joined(joined)) => self.on_joined(joined, common),
            Message::ToNode(ToNode::Present(present)) => self.on_present(present, common),
            Message::ToNode(ToNode::NotLeader(it)) => {
                if let Some((host, port)) = it.address {
                    common.host.add_seed(&HostPort { host, port });
                }
            }
            // Raft's before the first catalog come again.
            Message::ToNode(_) | Message::ToLeader(_) | Message::Raft(_) => {}
        }
    }

    fn on_joined<H>(&mut self, joined: Joined, common: &Common<H>) {
        if joined.run != common.registration.run {
            return;
        }
        match joined.outcome {
            Ok(registered) => {
                self.ended = Some(BootstrapOutcome::Joined(TakenIn {
                    cluster: joined.cluster,
                    registered,
                    version: joined.version,
                }));
            }
            Err(refusal) => {
                self.complain(format!("the cluster does not take this node: {refusal}"));
            }
        }
    }

    /// An earlier process of this node was taken in and had not stored so when it ended.
    fn on_present<H>(&mut self, present: Present, common: &Common<H>) {
        if present.run == common.registration.run && Some(present.incarnation) > self.after {
            self.after = Some(present.incarnation);
            self.last_sent = None;
        }
    }

    fn hear_of<H: Host>(&mut self, knows: &[(NodeKey, String, u16)], common: &mut Common<H>) {
        for (key, host, port) in knows {
            let address = HostPort {
                host: host.clone(),
                port: *port,
            };
            let is_new = *key != self.me && !self.met.contains_key(key) && *port != 0;
            if is_new && self.hearsay.len() < HEARSAY_MAX && self.hearsay.insert(address.clone()) {
                common.host.add_seed(&address);
            }
        }
    }

    /// Time went on.
    pub(crate) fn on_tick<H: Host>(&mut self, common: &mut Common<H>) {
        let now = common.host.now();
        if self
            .last_sent
            .is_some_and(|last_sent| now - last_sent < REPEAT)
        {
            return;
        }
        self.last_sent = Some(now);
        if now - self.reminded >= REMIND {
            self.reminded = now;
            tracing::warn!(
                waits_for = self.waits_for(),
                "this node is in no cluster yet"
            );
        }
        if self.members.is_empty() {
            self.discovery.on_tick(now);
        } else {
            self.next += 1;
            let (source, _) = &self.members[self.next % self.members.len()];
            let join = Join {
                cluster: self.discovery.joined(),
                after: self.after,
                registration: common.registration.clone(),
            };
            let join = Message::ToLeader(ToLeader::Join(join));
            common.host.reply(source, &join, Urgency::Normal);
        }
        let status = Message::Discovery(DiscoveryMessage::Status(self.discovery.status()));
        for target in common.host.connected() {
            common
                .host
                .reply(&Source::Dialed(target), &status, Urgency::Normal);
        }
        self.carry_out(common);
    }

    fn carry_out<H: Host>(&mut self, common: &mut Common<H>) {
        for step in self.discovery.take_steps() {
            match step {
                DiscoveryStep::Keep(kept) => {
                    if let Err(error) = common.host.keep(&kept) {
                        // What is not stored must not be said: nothing that follows is done.
                        tracing::error!(%error, "a promise to other nodes cannot be stored");
                        return self.discovery.on_not_kept();
                    }
                    self.discovery.on_kept(kept);
                }
                DiscoveryStep::Say(key, message) => {
                    if let Some(source) = self.met.get(&key) {
                        common
                            .host
                            .reply(source, &Message::Discovery(message), Urgency::Normal);
                    }
                }
                // Somebody else's cluster goes before an own one.
                DiscoveryStep::Found if self.members.is_empty() => {
                    self.ended = Some(BootstrapOutcome::Found)
                }
                DiscoveryStep::Found => {}
            }
        }
    }
}
