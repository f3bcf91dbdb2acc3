//! Streams between this brick and bricks of other nodes.
//!
//! In:  streams that were opened (by whom, to whom), bytes received. Out: bytes to send; the replicator's frames
//!      go to the replicator, and through it the gateway's messages to `remote`.
//!
//! Not here: what is on a stream (`brickyard-replication`), sockets (`brickyard-server`).

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

    /// A number for a stream that is about to be opened.
    pub(crate) fn number(&mut self) -> LinkId {
        LinkId(self.numbers.insert(()) as u32)
    }

    /// A stream is connected.
    pub(crate) fn open(&mut self, link: LinkId, seat: Seat, direction: Direction) {
        let before = self.streams.insert(
            link,
            Peer {
                seat,
                direction,
                input: Vec::new(),
            },
        );
        assert!(before.is_none(), "{link:?} is open, to {before:?}");
    }

    /// A stream is closed: whom it was to, and who had dialed it.
    pub(crate) fn close(&mut self, link: LinkId) -> Option<(Seat, Direction)> {
        let peer = self.streams.remove(&link)?;
        self.numbers.try_remove(link.0 as usize);
        assert!(
            !self.numbers.contains(link.0 as usize),
            "{link:?} may be given out again"
        );
        Some((peer.seat, peer.direction))
    }

    /// Whom a stream is to, and who dialed it.
    pub(crate) fn end(&self, link: LinkId) -> Option<(Seat, Direction)> {
        let peer = self.streams.get(&link)?;
        Some((peer.seat, peer.direction))
    }

    pub(crate) fn input(&mut self, link: LinkId) -> Option<&mut Vec<u8>> {
        Some(&mut self.streams.get_mut(&link)?.input)
    }
}

/// Takes the whole frames that a stream has brought.
pub(crate) fn take_frames(core: &mut Core, peers: &mut Peers, link: LinkId) {
    let Some(input) = peers.input(link) else {
        return;
    };
    let mut at = 0;
    let mut broken = None;
    while broken.is_none() {
        match frame::frame_len(&input[at..]) {
            Ok(Some(len)) if input.len() - at >= len => {
                let frame = &input[at..at + len];
                at += len;
                let taken = core.on_replica_frame(link, frame);
                broken = taken.err().map(|error| error.to_string());
            }
            Ok(_) => break,
            Err(error) => broken = Some(error.to_string()),
        }
    }
    assert!(at <= input.len(), "{at} bytes of {} are taken", input.len());
    input.drain(..at);
    if let Some(reason) = broken {
        core.effects.push_back(Effect::ClosePeer(link, reason));
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
        let states = self.tables.iter();
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
        let node = self.tables.catalog().node(member.node)?;
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
