//! A node without a cluster: it finds one and is taken in, or founds one with others.
//!
//! In:  who is met, what they say. Out: [`Ended`], once.

use super::{Common, kept};
use crate::clock;
use crate::config::HostPort;
use crate::peer::{Event, Refused};
use brickyard_control::message::{Join, Joined, ToLeader, ToNode};
use brickyard_metadata::{ClusterId, NodeKey, Registered};
use brickyard_node::forming::{Forming, Kept, Step, Word};
use brickyard_node::{Message, Source, Target, Urgency};
use brickyard_types::Instant;
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
pub(crate) enum Ended {
    /// This node founds the cluster.
    Found,
    /// It was taken in.
    Joined(ClusterId, Registered),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Founding {
    me: NodeKey,
    forming: Forming,
    seeds: Vec<HostPort>,
    /// The latest connection to each node that has said who it is.
    met: BTreeMap<NodeKey, Source>,
    /// Connections to members of a cluster.
    members: Vec<(Source, ClusterId)>,
    hearsay: BTreeSet<HostPort>,
    next: usize,
    said: Option<Instant>,
    reminded: Instant,
    /// What this node was told last, and is not told again.
    refusals: BTreeSet<String>,
    ended: Option<Ended>,
}

impl Founding {
    pub(crate) fn new(
        key: NodeKey,
        address: HostPort,
        seeds: Vec<HostPort>,
        expect: u32,
        kept: Kept,
        common: &mut Common,
    ) -> Self {
        for seed in &seeds {
            common.host.peers.add_seed(seed);
        }
        let list: Vec<String> = seeds.iter().map(ToString::to_string).collect();
        tracing::info!(seeds = list.join(" "), expect, "looking for a cluster");
        Self {
            me: key,
            forming: Forming::new(key, address, expect, kept),
            seeds,
            met: BTreeMap::new(),
            members: Vec::new(),
            hearsay: BTreeSet::new(),
            next: 0,
            said: None,
            reminded: clock::now(),
            refusals: BTreeSet::new(),
            ended: None,
        }
    }

    /// How it came out, once it has.
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        self.ended.take()
    }

    /// What of it has to outlive the process once it was taken in.
    pub(crate) fn joined(&mut self, cluster: ClusterId) -> Kept {
        self.forming.set_joined(cluster)
    }

    /// What it waits for, in words.
    pub(crate) fn waits_for(&self) -> String {
        if self.members.is_empty() {
            format!(
                "a cluster at the addresses in join, or enough nodes to found one: {} of {} others are there",
                self.forming.others(),
                self.seeds.len()
            )
        } else {
            "the cluster to take this node in".to_owned()
        }
    }

    pub(crate) fn on_event(&mut self, event: Event, common: &mut Common) {
        match event {
            Event::Welcomed(target, welcome) => {
                let source = Source::Dialed(target);
                if let Some(cluster) = welcome.cluster {
                    self.on_cluster(source.clone(), cluster);
                }
                self.met.insert(welcome.key, source);
            }
            Event::Refused(Target::Seed(address), Refused::Myself) => {
                common.host.peers.drop_seed(&address);
            }
            Event::Refused(target, refused) => {
                let what = format!("{target:?} refuses this node: {refused}");
                self.complain(what);
            }
            Event::Received(source, message) => self.on_message(source, message, common),
            Event::Lost(target) => self.forget(&Source::Dialed(target)),
            Event::Left(id) => self.forget(&Source::Arrived(id)),
            Event::Arrived(_) | Event::Stream(_) | Event::NoStream(..) => {}
        }
        self.carry_out(common);
    }

    fn forget(&mut self, source: &Source) {
        self.met.retain(|_, it| it != source);
        self.members.retain(|(it, _)| it != source);
    }

    fn complain(&mut self, what: String) {
        if self.refusals.insert(what.clone()) {
            tracing::error!("{what}");
        }
    }

    fn on_cluster(&mut self, source: Source, cluster: ClusterId) {
        match self.forming.joined() {
            Some(joined) if joined != cluster => {
                let what = format!(
                    "cluster {cluster} answers at an address in join, and this node was taken into \
                     cluster {joined}: correct join, or start with an empty data directory"
                );
                self.complain(what);
            }
            _ if self.members.iter().any(|(it, _)| *it == source) => {}
            _ => {
                self.said = None;
                self.members.push((source, cluster));
            }
        }
    }

    fn on_message(&mut self, source: Source, message: Message, common: &mut Common) {
        match message {
            Message::Forming(word) => {
                if let Word::Status(status) = &word {
                    if status.key == self.me {
                        return;
                    }
                    if let Some(cluster) = status.cluster {
                        self.on_cluster(source.clone(), cluster);
                    }
                    self.hear_of(&status.knows, common);
                    if matches!(source, Source::Arrived(_)) {
                        let own = Message::Forming(Word::Status(self.forming.status()));
                        common.host.peers.reply(&source, &own, Urgency::Normal);
                    }
                    self.met.insert(status.key, source);
                }
                self.forming.on_word(clock::now(), word);
            }
            Message::ToNode(ToNode::Joined(joined)) => self.on_joined(joined, common),
            Message::ToNode(ToNode::NotLeader(it)) => {
                if let Some((host, port)) = it.address {
                    common.host.peers.add_seed(&HostPort { host, port });
                }
            }
            // Raft's before the first catalog come again.
            Message::ToNode(_) | Message::ToLeader(_) | Message::Raft(_) => {}
        }
    }

    fn on_joined(&mut self, joined: Joined, common: &Common) {
        if joined.run != common.registration.run {
            return;
        }
        match joined.outcome {
            Ok(registered) => self.ended = Some(Ended::Joined(joined.cluster, registered)),
            Err(refusal) => {
                self.complain(format!("the cluster does not take this node: {refusal}"));
            }
        }
    }

    fn hear_of(&mut self, knows: &[(NodeKey, String, u16)], common: &mut Common) {
        for (key, host, port) in knows {
            let address = HostPort {
                host: host.clone(),
                port: *port,
            };
            let is_new = *key != self.me && !self.met.contains_key(key) && *port != 0;
            if is_new && self.hearsay.len() < HEARSAY_MAX && self.hearsay.insert(address.clone()) {
                common.host.peers.add_seed(&address);
            }
        }
    }

    pub(crate) fn on_tick(&mut self, common: &mut Common) {
        let now = clock::now();
        if self.said.is_some_and(|said| now - said < REPEAT) {
            return;
        }
        self.said = Some(now);
        if now - self.reminded >= REMIND {
            self.reminded = now;
            tracing::warn!(
                waits_for = self.waits_for(),
                "this node is in no cluster yet"
            );
        }
        if self.members.is_empty() {
            self.forming.on_tick(now);
        } else {
            self.next += 1;
            let (source, _) = &self.members[self.next % self.members.len()];
            let join = Join {
                cluster: self.forming.joined(),
                registration: common.registration.clone(),
            };
            let join = Message::ToLeader(ToLeader::Join(join));
            common.host.peers.reply(source, &join, Urgency::Normal);
        }
        let status = Message::Forming(Word::Status(self.forming.status()));
        for target in common.host.peers.connected() {
            common
                .host
                .peers
                .reply(&Source::Dialed(target), &status, Urgency::Normal);
        }
        self.carry_out(common);
    }

    fn carry_out(&mut self, common: &mut Common) {
        for step in self.forming.take_steps() {
            match step {
                Step::Keep(kept) => {
                    if let Err(error) = kept::store(&common.host.directory.disk, &kept) {
                        // What is not stored must not be said: nothing that follows is done.
                        tracing::error!(%error, "a promise to other nodes cannot be stored");
                        return;
                    }
                }
                Step::Say(key, word) => {
                    if let Some(source) = self.met.get(&key) {
                        common
                            .host
                            .peers
                            .reply(source, &Message::Forming(word), Urgency::Normal);
                    }
                }
                // Somebody else's cluster goes before an own one.
                Step::Found if self.members.is_empty() => self.ended = Some(Ended::Found),
                Step::Found => {}
            }
        }
    }
}
