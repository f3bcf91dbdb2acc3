//! Asking the way to a slot, from brick to brick.
//!
//! In:  a slot whose holder is not known. Out: the calls that wait for it, on their way to the holder.
//!
//! ```text
//!  begin: the nearest partition that is remembered, or any brick
//!    │ CLUSTER LOOKUP hash
//!    ▼
//!  a brick ── "next": a partition that is nearer ──► one of its bricks, and so on
//!    └─ "leaf": the partition ──► remembered; the calls go there
//! ```
//! Invariants:
//! - Each hop makes the distance smaller, by the client's own count: bricks with maps of different versions, or a brick that lies,
//!   cannot send it in a circle.
//! - A lookup that comes to nothing is no failure of the call: any port knows better, or passes it on.
//!
//! Not here: the graphs (`brickyard_routing::graph`), what is remembered (`finder`).

use crate::{
    Error,
    call::Call,
    command::{Place, Shape},
    endpoint::Endpoint,
    finder::{Finder, Members, count, hash_of},
    leaf::Leaf,
    map::host_of,
    peer::Kind,
    prepared::Prepared,
    refresh::Hint,
    router::Router,
};
use brickyard_routing::{
    RoutingHash,
    graph::{Graph, HOPS_MAX},
};
use brickyard_types::Slot;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// So often a lookup is begun, each time elsewhere, before the calls that wait for it go to any port.
const BEGINNINGS_MAX: usize = 3;

impl Router {
    /// Finds out who holds the call's slot, and then sends it there. If somebody is about that the call waits for it.
    pub(crate) fn seek(
        self: &Arc<Self>,
        finder: &Arc<Finder>,
        slot: Slot,
        call: Box<Call>,
        now: Instant,
    ) {
        // The other half of its time is for the call itself.
        let half = call.deadline().saturating_duration_since(now) / 2;
        let until = now + half.min(self.setting.silence_limit * 2);
        let Some(waiting) = finder.join(slot, call) else {
            return;
        };
        let (router, finder) = (Arc::clone(self), Arc::clone(finder));
        self.setting.runtime.spawn(async move {
            let found = router.find(&finder, hash_of(slot), until).await;
            if found.is_none() {
                count(&finder.counts.failed);
                // Those where lookups begin may hold nothing any more.
                router.refresh_soon(Hint::default());
            }
            let now = Instant::now();
            for call in finder.end(slot, &waiting) {
                router.hand_over(call, found.as_deref(), now);
            }
        });
    }

    /// Who holds the partition of a hash.
    async fn find(
        self: &Arc<Self>,
        finder: &Finder,
        target: RoutingHash,
        until: Instant,
    ) -> Option<Members> {
        let graph = finder.lookups.graph;
        if let Some((leaf, members)) = finder.near(target)
            && let Some(begin) = answering(&members)
        {
            count(&finder.counts.near);
            let way = graph.distance(leaf, target);
            match self.walk(finder, target, (begin, way), until).await {
                None => {}
                found => return found,
            }
        }
        for beginning in 1..=BEGINNINGS_MAX {
            if Instant::now() >= until {
                break;
            }
            count(&finder.counts.random);
            // The last one is at any port: a node's has the tables of all of its bricks.
            let drawn = match beginning {
                BEGINNINGS_MAX => None,
                _ => finder.start(self.random()),
            };
            let begin = self.beginning(drawn.as_deref())?;
            match self.walk(finder, target, (begin, u64::MAX), until).await {
                None => {}
                found => return found,
            }
        }
        None
    }

    /// That brick, or any port if none is known or it does not answer.
    fn beginning(&self, drawn: Option<&str>) -> Option<Arc<Endpoint>> {
        let endpoint = drawn.map(|address| self.endpoint(address));
        let now = Instant::now();
        endpoint.filter(|it| it.peer.is_up(now)).or_else(|| {
            self.directory()
                .stand_in(Kind::Brick, None, self.random(), now)
        })
    }

    /// From brick to brick, as long as that leads nearer.
    async fn walk(
        self: &Arc<Self>,
        finder: &Finder,
        target: RoutingHash,
        (mut at, mut way): (Arc<Endpoint>, u64),
        until: Instant,
    ) -> Option<Members> {
        let lookups = &finder.lookups;
        let graph = lookups.graph;
        let mut by = (!lookups.is_aggregated).then(|| "ANY".to_owned());
        for hops in 0..HOPS_MAX {
            count(&finder.counts.questions);
            let words = words(target, graph, by.as_deref(), hops);
            let leaf = self.ask_way(&at, &words, until).await.ok()?;
            let members = leaf.members.iter();
            let members: Members = members.map(|address| self.endpoint(address)).collect();
            let distance = graph.distance(leaf.prefix, target);
            if distance == 0 {
                // Where it stands in another's routing table that is the last hop.
                let is_last = match &by {
                    Some(by) => *by != leaf.partition.to_string(),
                    None => !leaf.members.contains(&at.peer.address),
                };
                let hops = hops + u32::from(is_last);
                finder.counts.hops.fetch_add(hops.into(), Ordering::Relaxed);
                finder.learn(&leaf, &members);
                return Some(members);
            }
            if distance >= way {
                return None;
            }
            way = distance;
            at = answering(&members)?;
            by = by.map(|_| leaf.partition.to_string());
        }
        None
    }

    async fn ask_way(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        words: &[String],
        until: Instant,
    ) -> Result<Leaf, Error> {
        let shape = Shape {
            is_read: true,
            place: Place::Anywhere,
        };
        let now = Instant::now();
        let until = until.min(now + self.setting.silence_limit);
        let reply = self.ask(endpoint, Prepared::new(shape, 0, words), (now, until));
        let reply = reply.await.unwrap_or(Err(Error::Closed))?;
        let address = &endpoint.peer.address;
        let leaf = Leaf::read(&reply, host_of(address));
        leaf.ok_or_else(|| Error::protocol(format!("{address}: CLUSTER LOOKUP gave no partition")))
    }
}

fn words(target: RoutingHash, graph: Graph, by: Option<&str>, hops: u32) -> Vec<String> {
    let mut words = vec![
        "CLUSTER".to_owned(),
        "LOOKUP".to_owned(),
        format!("{:016x}", target.0),
        "GRAPH".to_owned(),
        graph.name().to_owned(),
        "HOPS".to_owned(),
        hops.to_string(),
    ];
    if let Some(partition) = by {
        words.extend(["BY", partition].map(str::to_owned));
    }
    words
}

/// The one to ask: all of them have the partition's routing table, and one that answers is as good as the primary.
fn answering(members: &[Arc<Endpoint>]) -> Option<Arc<Endpoint>> {
    let now = Instant::now();
    let is_good = |it: &&Arc<Endpoint>| it.peer.is_up(now) && !it.peer.is_slow(now);
    let good = members.iter().find(is_good);
    let up = || members.iter().find(|it| it.peer.is_up(now));
    good.or_else(up).or_else(|| members.first()).cloned()
}
