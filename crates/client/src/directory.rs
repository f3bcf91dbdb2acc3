//! Who is where, as far as is known, and which of them a call is best given to.
//!
//! In:  a map, what became of calls. Out: an endpoint.
//!
//! Invariant: rather one that is slow than none, and rather one that passes calls on than one that is silent.

use crate::{
    endpoint::Endpoint,
    lard::{Candidate, Lard},
    map::SlotMap,
    peer::{Kind, Peer},
};
use brickyard_types::Slot;
use std::{sync::Arc, time::Instant};

/// Who is where, as far as is known.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) map: SlotMap,
    /// One for each address of the map, at its place.
    pub(crate) mapped: Vec<Arc<Endpoint>>,
    pub(crate) seeds: Vec<Arc<Endpoint>>,
    /// Nodes' ports that a map told of, beside those among the seeds.
    pub(crate) nodes: Vec<Arc<Endpoint>>,
}

impl Directory {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.seeds.iter().chain(&self.nodes).chain(&self.mapped)
    }

    pub(crate) fn find(&self, address: &str) -> Option<Arc<Endpoint>> {
        self.all().find(|it| it.peer.address == address).cloned()
    }

    /// The node port of the node that a brick is of, as far as the map tells.
    pub(crate) fn node_port_of(&self, brick: &str) -> Option<&str> {
        let place = self.mapped.iter().position(|it| it.peer.address == brick)?;
        self.map.node_of(place)
    }

    /// Who holds a slot, as far as the map tells, the primary first.
    pub(crate) fn members(&self, slot: Slot) -> impl Iterator<Item = &Arc<Endpoint>> + Clone {
        let places = self.map.members(slot).iter();
        places.filter_map(|place| self.mapped.get(*place))
    }

    /// The primary of these members, if it answers. As long as it is silent a node port is better, if there is one: that passes calls
    /// on, to another as soon as it knows that another is primary. `suspect`: it is time to see whether it answers.
    pub(crate) fn primary<'a>(
        &self,
        mut members: impl Iterator<Item = &'a Arc<Endpoint>>,
        now: Instant,
        suspect: &mut Option<Arc<Endpoint>>,
    ) -> Option<Arc<Endpoint>> {
        let primary = members.next()?;
        let peer = &primary.peer;
        if !peer.is_up(now) {
            return None;
        }
        if !peer.is_silent() || !self.has_good_node(now) {
            return Some(Arc::clone(primary));
        }
        if !peer.is_slow(now) {
            peer.on_chosen(now);
            *suspect = Some(Arc::clone(primary));
        }
        None
    }

    /// Whether a node port answers whose bricks do.
    fn has_good_node(&self, now: Instant) -> bool {
        let is_node = |it: &&Arc<Endpoint>| it.peer.kind() == Kind::Node && it.peer.is_up(now);
        let bad = self.bad_nodes(now);
        self.all()
            .filter(is_node)
            .any(|it| !it.peer.is_slow(now) && !bad.contains(&it.peer.address.as_str()))
    }

    /// The ports of nodes of which a brick does not answer, or is slow.
    fn bad_nodes(&self, now: Instant) -> Vec<&str> {
        let bricks = self.mapped.iter().enumerate();
        let bad = bricks.filter(|(_, it)| it.peer.is_slow(now) || !it.peer.is_up(now));
        bad.filter_map(|(place, _)| self.map.node_of(place))
            .collect()
    }

    /// The one of these members that a key's reads prefer; `avoid` did not answer this one. One that was silent may have waited for
    /// the outcome of a write, which the primary need not: so that comes next. Rather a slow one than none.
    pub(crate) fn replica<'a>(
        members: impl Iterator<Item = &'a Arc<Endpoint>> + Clone,
        key_hash: u64,
        lard: Lard,
        avoid: Option<u64>,
        now: Instant,
    ) -> Option<Arc<Endpoint>> {
        let choose = |is_good: &dyn Fn(&Peer) -> bool| {
            let candidate = |it: &Arc<Endpoint>| Candidate {
                identity: it.peer.identity,
                load: it.peer.load(),
                is_up: it.peer.is_up(now) && is_good(&it.peer),
            };
            let candidates: Vec<Candidate> = members.clone().map(candidate).collect();
            lard.choose(key_hash, &candidates)
        };
        let is_other = |peer: &Peer| Some(peer.identity) != avoid;
        let is_good = |peer: &Peer| is_other(peer) && !peer.is_slow_to_read(now);
        let primary = members.clone().next().filter(|_| avoid.is_some());
        let chosen = primary
            .filter(|it| it.peer.is_up(now) && is_good(&it.peer))
            .map(|_| 0)
            .or_else(|| choose(&|peer| peer.is_near && is_good(peer)))
            .or_else(|| choose(&is_good))
            .or_else(|| choose(&is_other))
            .or_else(|| choose(&|_| true))?;
        let endpoint = members.clone().nth(chosen)?;
        endpoint.peer.on_chosen(now);
        Some(Arc::clone(endpoint))
    }

    /// Somebody else who answers: a node port, which serves everything; else an address of an unknown kind;
    /// else a brick, which knows where to go. Nobody worse than `worst`. Of those that are alike rather not `avoid`, which
    /// did not answer, nor the port of a node of which a brick does not.
    pub(crate) fn stand_in(
        &self,
        worst: Kind,
        avoid: Option<u64>,
        random: u64,
        now: Instant,
    ) -> Option<Arc<Endpoint>> {
        let bad = self.bad_nodes(now);
        let is_avoided = |it: &Arc<Endpoint>| {
            Some(it.peer.identity) == avoid || bad.contains(&it.peer.address.as_str())
        };
        let up = || self.all().filter(|it| it.peer.is_up(now));
        let best = up().map(|it| it.peer.kind()).min()?;
        let alike = || up().filter(|it| it.peer.kind() == best && best <= worst);
        let is_good = |it: &Arc<Endpoint>| !is_avoided(it) && !it.peer.is_slow(now);
        let has_good = alike().any(is_good);
        let chosen_from = || alike().filter(|it| !has_good || is_good(it));
        let count = chosen_from().count() as u64;
        let chosen = random.checked_rem(count)?;
        chosen_from().nth(chosen as usize).cloned()
    }
}
