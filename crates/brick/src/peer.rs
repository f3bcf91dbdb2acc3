//! Streams between this brick and bricks of other nodes.
//!
//! In:  streams that were opened (by whom, to whom), bytes received. Out: bytes to send; the replicator's frames
//!      go to the replicator, and through it the gateway's messages to `remote`.
//!
//! Not here: what is on a stream (`brickyard-replication`), sockets (`brickyard-server`).

use crate::brick::Brick;
use crate::core::Core;
use crate::effect::{ControlRequest, Effect};
use brickyard_replication::{Claim, Direction, LinkId, frame};
use brickyard_routing::{Member, Seat};
use brickyard_types::{Incarnation, Instant, PartitionId};
use slab::Slab;
use std::collections::BTreeMap;

/// A stream.
#[derive(Debug)]
struct Peer {
    seat: Seat,
    direction: Direction,
    input: Vec<u8>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    streams: BTreeMap<LinkId, Peer>,
    numbers: Slab<()>,
}

impl Peers {
    /// The stream that a brick has dialed.
    pub(crate) fn from(&self, member: Member) -> Option<LinkId> {
        let mut streams = self.streams.iter().rev();
        streams
            .find(|(_, peer)| peer.seat.member == member && peer.direction == Direction::Incoming)
            .map(|(link, _)| *link)
    }
}

impl Brick {
    /// A number for a stream that is about to be opened.
    pub fn peer_number(&mut self) -> LinkId {
        LinkId(self.peers.numbers.insert(()) as u32)
    }

    /// A stream is connected, and both ends have said who they are.
    pub fn peer_opened(&mut self, link: LinkId, peer: Seat, direction: Direction, connection: u64) {
        self.peers.streams.insert(
            link,
            Peer {
                seat: peer,
                direction,
                input: Vec::new(),
            },
        );
        if direction == Direction::Outgoing {
            self.remotes.hearing.hear(peer, self.core.now);
        }
        self.core.replicas.engine.outbox.open(link, direction);
        self.core
            .replicate(|replicator| replicator.on_link(link, peer, direction, connection));
        self.core.replicas.wake();
    }

    /// Who dialed the stream.
    #[must_use]
    pub fn peer_direction(&self, link: LinkId) -> Option<Direction> {
        self.peers.streams.get(&link).map(|peer| peer.direction)
    }

    /// How far a partition has committed here, in that history.
    #[cfg(test)]
    pub(crate) fn committed_in(
        &self,
        partition: PartitionId,
        lineage: u32,
    ) -> Option<brickyard_types::Op> {
        let replicator = self.core.replicas.replicator();
        let is_it = replicator.lineage(partition) == lineage;
        is_it.then(|| replicator.committed(partition))
    }

    /// Whether somebody who asks for a key of the partition is answered here.
    #[cfg(test)]
    pub(crate) fn is_serving(&self, partition: PartitionId) -> bool {
        let status = self.core.replicas.replicator().status(partition);
        self.core.replicas.is_leased && status.serves_reads
    }

    /// The last op that is held here.
    #[cfg(test)]
    pub(crate) fn last_of(&self, partition: PartitionId) -> brickyard_types::Op {
        self.core.replicas.replicator().last(partition).1
    }

    /// A stream is closed, whoever closed it.
    pub fn peer_closed(&mut self, link: LinkId) {
        let Some(peer) = self.peers.streams.remove(&link) else {
            return;
        };
        self.peers.numbers.try_remove(link.0 as usize);
        self.core.replicas.engine.outbox.close(link);
        self.core.replicate(|replicator| replicator.on_closed(link));
        self.tell_lost();
        if peer.direction == Direction::Outgoing {
            self.on_remote_lost(peer.seat);
        }
    }

    /// The buffer to which the driver appends what the peer sent; call [`Self::on_peer_received`] after
    /// that.
    ///
    /// # Panics
    /// If there is no such stream (a caller bug).
    pub fn peer_input(&mut self, link: LinkId) -> &mut Vec<u8> {
        &mut self
            .peers
            .streams
            .get_mut(&link)
            .expect("the driver knows its streams")
            .input
    }

    /// The input has grown: whole frames are taken.
    pub fn on_peer_received(&mut self, link: LinkId) {
        let Some(peer) = self.peers.streams.get_mut(&link) else {
            return;
        };
        if peer.direction == Direction::Outgoing {
            self.remotes.hearing.hear(peer.seat, self.core.now);
        }
        let input = std::mem::take(&mut peer.input);
        let mut at = 0;
        let mut broken = None;
        while broken.is_none() {
            match frame::frame_len(&input[at..]) {
                Ok(Some(len)) if input.len() - at >= len => {
                    let frame = &input[at..at + len];
                    at += len;
                    let taken = self.core.on_replica_frame(link, frame);
                    broken = taken.err().map(|error| error.to_string());
                }
                Ok(_) => break,
                Err(error) => broken = Some(error.to_string()),
            }
        }
        if let Some(reason) = broken {
            self.core.effects.push_back(Effect::ClosePeer(link, reason));
        }
        if let Some(peer) = self.peers.streams.get_mut(&link) {
            let mut rest = input;
            rest.drain(..at);
            peer.input = rest;
        }
        self.tell_lost();
        self.let_out();
    }

    /// A stream with bytes to send.
    pub fn poll_peer_output(&mut self) -> Option<LinkId> {
        self.core.replicas.engine.outbox.poll()
    }

    /// What is to be sent on a stream.
    #[must_use]
    pub fn peer_output(&self, link: LinkId) -> &[u8] {
        self.core.replicas.engine.outbox.bytes(link)
    }

    /// `len` bytes of it were sent.
    pub fn on_peer_sent(&mut self, link: LinkId, len: usize) {
        self.core.replicas.engine.outbox.on_sent(link, len);
    }

    /// What this brick acknowledges to the control plane: the catalog's version up to which every removal is
    /// obeyed, and the one up to which every view that it leads is accepted, with the log synced (PROTOCOL
    /// rules 3 and 8). To be told after the turn's replies have left.
    #[must_use]
    pub fn acknowledged(&self) -> (u64, u64) {
        let replicator = self.core.replicas.replicator();
        (replicator.stopped(), replicator.accepted())
    }

    /// A tick's worth of work on replicas.
    pub(crate) fn tick_replicas(&mut self) {
        let now = self.core.now;
        self.core.replicate(|replicator| replicator.tick(now));
        self.core.replicas.engine.outbox.tick(now);
        self.tell_lost();
        self.tend_catch_ups();
        self.give_up_writes();
        self.end_overdue();
        self.tell_lost();
        // Requests that another node has refused are tried again now and then, whatever happened.
        self.core.replicas.wake();
    }
}

impl Core {
    pub(crate) fn on_registered(&mut self, incarnation: Incarnation) {
        if incarnation == self.replicas.incarnation {
            return;
        }
        if self.replicas.incarnation != Incarnation(0) {
            // What was granted was granted to the life before, which counts as dead from now on.
            self.replicas.grant(Instant(0), 0, 0);
            self.replicas.check_lease(self.now);
        }
        self.replicas.incarnation = incarnation;
        let me = self.seat();
        self.replicate(|replicator| replicator.set_me(me));
    }

    pub(crate) fn tell_claims(&mut self, token: u64) {
        let replicated = self.replicas.replicator().claims();
        let claims = replicated.chain(self.claims_alone()).collect();
        self.effects
            .push_back(Effect::Control(token, ControlRequest::Claims(claims)));
    }

    /// What the log holds of partitions that never had another replica: all there is.
    fn claims_alone(&self) -> impl Iterator<Item = (PartitionId, Claim)> + '_ {
        let states = self.tables.iter().flatten();
        let logged = states.filter(|state| state.is_logged());
        logged.flat_map(|state| {
            let groups = state.map.groups().iter();
            let partitions = state.partitions.iter().zip(groups);
            let alone = partitions.filter_map(|(it, group)| Some((it.as_ref()?, group)));
            alone
                .filter(|(it, _)| !it.is_replicated)
                .map(|(it, group)| (it.id, it.claim_alone(group)))
        })
    }

    /// The stream on which this brick sends to another, and that brick in its present life.
    pub(crate) fn link_to(&self, member: Member) -> Option<(LinkId, Seat)> {
        let seat = self.seat_of(member)?;
        let link = self.replicas.replicator().link_to(seat)?;
        Some((link, seat))
    }

    fn seat_of(&self, member: Member) -> Option<Seat> {
        let node = self.catalog.node(member.node)?;
        Some(node.seat(member.brick))
    }

    /// Asks for a stream to a brick.
    pub(crate) fn dial(&mut self, member: Member) {
        if let Some(seat) = self.seat_of(member) {
            let effect = Effect::Dial(seat);
            self.effects.push_back(effect);
        }
    }
}

impl crate::core::Partition {
    /// What the log holds of it if it never had another replica: all there is.
    pub(crate) fn claim_alone(&self, group: &brickyard_routing::Group) -> Claim {
        Claim {
            lineage: group.lineage,
            committed: self.op,
            last: (self.view, self.op),
            is_complete: true,
            ..Claim::default()
        }
    }
}
