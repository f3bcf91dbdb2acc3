//! Nodes that are not in a cluster yet find each other: one of them founds it, or they find one that is
//! there.
//!
//! In:  what others say of themselves, time. Out: [`DiscoveryStep`]: what to say, what to store, whether to found or
//! whom to join.
//!
//! ```text
//! a: I know b and c ──▶ Ask ──▶ b, c promise (stored) ──▶ a founds ──▶ b, c see its cluster and join
//! ```
//! The one with the smallest key of those that are there asks; it founds once as many as `expect` says, it
//! included, have promised. Whoever has promised to one promises to no other until that one says that it
//! gave up, so that two can found only if each has promises of enough nodes that the other has not asked:
//! there must be twice as many nodes as `expect` says.
//!
//! Invariants:
//! - A promise is stored before it is given, and an own one before it is asked for.
//! - Who gave up never founds with the promises it had: each attempt has a number of its own.
//! - A node that has joined a cluster founds none.
//!
//! Not here: who is asked to take the node in, and connections (`bootstrap`).

pub mod kept;

use crate::address::HostPort;
use brickyard_metadata::{ClusterId, NodeKey};
use brickyard_types::Instant;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long somebody that says nothing counts as being there.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Most nodes that one message tells of.
const KNOWN_MAX: usize = 256;

/// What nodes say to one another before there is a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiscoveryMessage {
    /// This is how I stand; said again and again.
    Status(DiscoveryStatus),
    /// Promise to found no cluster, and to let nobody else, but me.
    Ask {
        /// Who asks.
        founder: NodeKey,
        /// As which of its attempts.
        attempt: u64,
    },
    /// I promise.
    Promise {
        /// Who does.
        from: NodeKey,
        /// In answer to which attempt.
        attempt: u64,
    },
}

/// How a node stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryStatus {
    /// Which node.
    pub key: NodeKey,
    /// Its cluster, once it has one.
    pub cluster: Option<ClusterId>,
    /// Whom it promised, maybe itself.
    pub promised: Option<NodeKey>,
    /// Its last attempt to found one: what is older than an attempt says nothing about it.
    pub attempts: u64,
    /// Where it and those that it knows are reached by nodes.
    pub knows: Vec<(NodeKey, String, u16)>,
}

/// What outlives the process while there is no cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Whom this node promised, in which attempt of that one.
    pub promised: Option<(NodeKey, u64)>,
    /// Its own attempts so far.
    pub attempts: u64,
    /// The cluster that it joined, though it has nothing of its log yet.
    pub joined: Option<ClusterId>,
}

/// Something to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryStep {
    /// Store this before the next step.
    Keep(Kept),
    /// Say this to that node.
    Say(NodeKey, DiscoveryMessage),
    /// Found the cluster.
    Found,
}

#[derive(Clone, Debug)]
struct Known {
    status: DiscoveryStatus,
    last_contact: Instant,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Discovery {
    me: NodeKey,
    address: HostPort,
    /// 0: found nothing.
    expect: usize,
    kept: Kept,
    /// What of it is known to be stored.
    stored: Kept,
    known: BTreeMap<NodeKey, Known>,
    /// The attempt under way, and who promised in it.
    attempt: Option<(u64, BTreeSet<NodeKey>)>,
    steps: Vec<DiscoveryStep>,
}

impl Discovery {
    /// A node that is reached there; `expect`: how many found a cluster together, 0: this one founds none.
    #[must_use]
    pub fn new(me: NodeKey, address: HostPort, expect: u32, kept: Kept) -> Self {
        Self {
            me,
            address,
            expect: expect as usize,
            kept,
            stored: kept,
            known: BTreeMap::new(),
            attempt: None,
            steps: Vec::new(),
        }
    }

    /// What was not done yet.
    pub fn take_steps(&mut self) -> Vec<DiscoveryStep> {
        std::mem::take(&mut self.steps)
    }

    /// This was stored, as a step asked for.
    pub fn on_kept(&mut self, kept: Kept) {
        self.stored = kept;
    }

    /// It could not be stored, and no step behind it was done: whoever asks again is promised anew, not answered as if
    /// it had been.
    pub fn on_not_kept(&mut self) {
        self.kept = self.stored;
        self.attempt = None;
    }

    /// What to say to everybody now.
    pub fn status(&self) -> DiscoveryStatus {
        let mut knows = vec![(self.me, self.address.host.clone(), self.address.port)];
        for known in self.known.values() {
            let own = known.status.knows.iter();
            knows.extend(own.filter(|(key, ..)| *key == known.status.key).cloned());
        }
        knows.truncate(KNOWN_MAX);
        DiscoveryStatus {
            key: self.me,
            cluster: None,
            promised: self.kept.promised.map(|(key, _)| key),
            attempts: self.kept.attempts,
            knows,
        }
    }

    /// Who is there, this node not included.
    pub fn others(&self) -> usize {
        self.known.len()
    }

    /// The cluster that this node joined before it was stopped.
    pub fn joined(&self) -> Option<ClusterId> {
        self.kept.joined
    }

    /// This node was taken in.
    pub fn set_joined(&mut self, cluster: ClusterId) -> Kept {
        self.kept = Kept {
            promised: None,
            joined: Some(cluster),
            ..self.kept
        };
        self.kept
    }

    /// Somebody said something.
    pub fn on_message(&mut self, now: Instant, message: DiscoveryMessage) {
        match message {
            DiscoveryMessage::Status(status) if status.key != self.me => {
                let key = status.key;
                self.known.insert(
                    key,
                    Known {
                        status,
                        last_contact: now,
                    },
                );
            }
            DiscoveryMessage::Status(_) => {}
            DiscoveryMessage::Ask { founder, attempt } => self.on_ask(founder, attempt),
            DiscoveryMessage::Promise { from, attempt } => {
                if let Some((asked, promised)) = &mut self.attempt
                    && *asked == attempt
                {
                    promised.insert(from);
                }
            }
        }
        self.decide();
    }

    /// Time went on: whoever said nothing for long is not there, and what was asked is asked again.
    pub fn on_tick(&mut self, now: Instant) {
        self.known
            .retain(|_, known| now - known.last_contact < SILENCE_MAX);
        self.decide();
        if let Some((attempt, promised)) = &self.attempt {
            let (founder, attempt) = (self.me, *attempt);
            let asked = self.known.keys().filter(|key| !promised.contains(key));
            let asked: Vec<NodeKey> = asked.copied().collect();
            for key in asked {
                self.steps.push(DiscoveryStep::Say(
                    key,
                    DiscoveryMessage::Ask { founder, attempt },
                ));
            }
        }
    }

    fn on_ask(&mut self, founder: NodeKey, attempt: u64) {
        if self.kept.joined.is_some() || founder == self.me {
            return;
        }
        match self.kept.promised {
            // An attempt of this node's own gives way to that of a smaller key.
            Some((promised, _)) if promised == self.me && founder < self.me => self.give_up(),
            Some((promised, _)) if promised != founder => return,
            Some((_, asked)) if asked > attempt => return,
            _ => {}
        }
        if self.kept.promised != Some((founder, attempt)) {
            self.keep(Some((founder, attempt)));
        }
        let from = self.me;
        self.steps.push(DiscoveryStep::Say(
            founder,
            DiscoveryMessage::Promise { from, attempt },
        ));
    }

    fn decide(&mut self) {
        if self.kept.joined.is_some() || self.expect == 0 {
            return;
        }
        if let Some((promised, attempt)) = self.kept.promised
            && promised != self.me
        {
            // It gave up since, or promised to another one itself: it will not found by this promise.
            let status = self.known.get(&promised).map(|known| &known.status);
            let has_given_up = |it: &DiscoveryStatus| {
                it.cluster.is_none() && it.attempts >= attempt && it.promised != Some(promised)
            };
            if status.is_some_and(has_given_up) {
                self.keep(None);
            }
            return;
        }
        let is_smallest = self.known.keys().all(|key| *key > self.me);
        let is_enough = self.known.len() + 1 >= self.expect;
        match &self.attempt {
            Some(_) if !is_smallest => self.give_up(),
            Some((_, promised)) if promised.len() + 1 >= self.expect => {
                self.attempt = None;
                self.steps.push(DiscoveryStep::Found);
            }
            None if is_smallest && is_enough => self.begin(),
            Some(_) | None => {}
        }
    }

    fn begin(&mut self) {
        self.kept.attempts += 1;
        let attempt = self.kept.attempts;
        self.keep(Some((self.me, attempt)));
        if self.expect == 1 {
            self.steps.push(DiscoveryStep::Found);
        } else {
            self.attempt = Some((attempt, BTreeSet::new()));
        }
    }

    fn give_up(&mut self) {
        self.attempt = None;
        self.keep(None);
    }

    fn keep(&mut self, promised: Option<(NodeKey, u64)>) {
        self.kept.promised = promised;
        self.steps.push(DiscoveryStep::Keep(self.kept));
    }
}

#[cfg(test)]
#[path = "discovery_test.rs"]
mod discovery_test;
