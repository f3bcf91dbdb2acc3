//! Streams between this brick and bricks of other nodes.
//!
//! In:  streams that were opened (by whom, to whom), bytes received. Out: bytes to send; the replicator's frames
//!      go to the replicator, and through it the gateway's messages to `remote`.
//!
//! Not here: what is on a stream (`brickyard-replication`), sockets (`brickyard-server`).

use crate::effect::{ControlRequest, Effect};
use crate::replica::{Replicas, Replication};
use brickyard_replication::{Direction, LinkId, frame};
use brickyard_routing::{Member, Replica};
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};

/// A stream.
#[derive(Debug)]
struct Peer {
    replica: Replica,
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
            .find(|(_, peer)| {
                peer.replica.member == member && peer.direction == Direction::Incoming
            })
            .map(|(link, _)| *link)
    }

    /// A number for a stream that is about to be opened.
    pub(crate) fn number(&mut self) -> LinkId {
        LinkId(self.numbers.insert(()) as u32)
    }

    /// A stream is connected.
    pub(crate) fn open(&mut self, link: LinkId, replica: Replica, direction: Direction) {
        let before = self.streams.insert(
            link,
            Peer {
                replica,
                direction,
                input: Vec::new(),
            },
        );
        assert!(before.is_none(), "{link:?} is open, to {before:?}");
    }

    /// A stream is closed: whom it was to, and who had dialed it.
    pub(crate) fn close(&mut self, link: LinkId) -> Option<(Replica, Direction)> {
        let peer = self.streams.remove(&link)?;
        self.numbers.try_remove(link.0 as usize);
        assert!(
            !self.numbers.contains(link.0 as usize),
            "{link:?} may be given out again"
        );
        Some((peer.replica, peer.direction))
    }

    /// Whom a stream is to, and who dialed it.
    pub(crate) fn end(&self, link: LinkId) -> Option<(Replica, Direction)> {
        let peer = self.streams.get(&link)?;
        Some((peer.replica, peer.direction))
    }

    pub(crate) fn input(&mut self, link: LinkId) -> Option<&mut Vec<u8>> {
        Some(&mut self.streams.get_mut(&link)?.input)
    }
}

/// Takes the whole frames that a stream has brought.
pub(crate) fn take_frames(
    replication: &mut Replication<'_>,
    effects: &mut VecDeque<Effect>,
    peers: &mut Peers,
    link: LinkId,
) {
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
                let taken = replication.on_frame(link, frame);
                broken = taken.err().map(|error| error.to_string());
            }
            Ok(_) => break,
            Err(error) => broken = Some(error.to_string()),
        }
    }
    assert!(at <= input.len(), "{at} bytes of {} are taken", input.len());
    input.drain(..at);
    if let Some(reason) = broken {
        effects.push_back(Effect::ClosePeer(link, reason));
    }
}

/// Tells the control plane what the log holds of each partition.
pub(crate) fn report_summaries(replicas: &Replicas, effects: &mut VecDeque<Effect>, token: u64) {
    let summaries = replicas.replicator().summaries().collect();
    effects.push_back(Effect::Control(token, ControlRequest::Summaries(summaries)));
}
