//! Streams to and from other bricks: they come, carry frames, and go.

use crate::frame::{Frame, FrameError, byte};
use crate::link::{Link, Voted};
use crate::member::Phase;
use crate::{Direction, Host, LinkId, Replicator, Request};
use brickyard_routing::Seat;

impl<P> Replicator<P> {
    /// A stream is connected. Both ends named their seats, and the dialer the connection's number, which
    /// rises with each of its connections to this brick.
    pub fn on_link<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        peer: Seat,
        direction: Direction,
        connection: u64,
    ) {
        if self.link(link).is_some() {
            self.on_closed(host, link);
        }
        let at = link.0 as usize;
        if self.links.len() <= at {
            self.links.resize_with(at + 1, || None);
        }
        self.links[at] = Some(Link::new(link, peer, direction));
        let entry = self.peers.entry(peer).or_default();
        match direction {
            Direction::Outgoing => {
                entry.dialed_at = None;
                if let Some(old) = entry.outgoing.replace(link) {
                    self.supersede(old);
                }
                self.attach(link, peer);
            }
            Direction::Incoming => match entry.incoming {
                // PROTOCOL rule 2: a stream that was dialed before the present one arrived late.
                Some((number, _)) if number > connection => self.supersede(link),
                old => {
                    entry.incoming = Some((connection, link));
                    if let Some((_, old)) = old {
                        self.supersede(old);
                    }
                }
            },
        }
        self.settle(host);
    }

    /// The stream is closed.
    pub fn on_closed<H: Host<Payload = P>>(&mut self, host: &mut H, link: LinkId) {
        self.detach(link);
        let Some(closed) = self.links.get_mut(link.0 as usize).and_then(Option::take) else {
            return;
        };
        self.outputs.retain(|it| *it != link);
        if let Some(entry) = self.peers.get_mut(&closed.peer) {
            if entry.outgoing == Some(link) {
                entry.outgoing = None;
            }
            if entry.incoming.is_some_and(|(_, it)| it == link) {
                entry.incoming = None;
            }
            if entry.wanted > 0 && entry.outgoing.is_none() {
                entry.dialed_at = Some(self.now);
                self.requests.push_back(Request::Dial(closed.peer));
            }
        }
        self.drop_peer(closed.peer);
        self.settle(host);
    }

    /// One whole frame, head included ([`frame_len`](crate::frame::frame_len) says how long it is).
    ///
    /// # Errors
    /// The host closes the link, and calls [`Self::on_closed`].
    pub fn on_frame<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        frame: &[u8],
    ) -> Result<(), FrameError> {
        let Some(it) = self.link_mut(link) else {
            let what = "a frame on a link that is not connected";
            return Err(FrameError::Protocol { what });
        };
        // PROTOCOL rule 2: what comes on another stream than the present one is dropped.
        if it.is_stale {
            return Ok(());
        }
        it.is_heard = true;
        let (direction, peer) = (it.direction, it.peer);
        let kind = frame.get(crate::frame::HEAD_BYTES - 1).copied();
        let is_mine = match kind.unwrap_or_default() {
            byte::MESSAGE => true,
            kind => (kind < byte::VOTE) == (direction == Direction::Incoming),
        };
        if !is_mine {
            let what = "a frame in the wrong direction";
            return Err(FrameError::Protocol { what });
        }
        let result = match Frame::decode(frame)? {
            Frame::Message(bytes) => {
                host.message(link, peer, bytes);
                Ok(())
            }
            Frame::Begin(begin) => self.on_begin(host, link, &begin),
            Frame::Records(bytes) => self.on_records(host, link, bytes),
            Frame::Turn { turn, commits } => self.on_turn(link, turn, commits),
            Frame::CopyStart(start) => self.on_copy_start(host, link, &start),
            Frame::Copy { partition, records } => self.on_copy(host, link, partition, records),
            Frame::CopyEnd {
                partition,
                view,
                at,
            } => self.on_copy_end(host, link, partition, view, at),
            Frame::Ping => {
                self.put_frame(link, &Frame::Pong);
                Ok(())
            }
            Frame::Vote {
                received,
                appended,
                synced,
            } => {
                let vote = Voted {
                    received,
                    appended,
                    synced,
                };
                self.on_vote(link, vote)
            }
            Frame::Refuse(refuse) => {
                self.on_refuse(link, &refuse);
                Ok(())
            }
            Frame::Claim {
                partition,
                view,
                claim,
            } => {
                self.on_claim(link, partition, view, claim);
                Ok(())
            }
            Frame::CopyDone { partition, view } => {
                self.on_copy_done(link, partition, view);
                Ok(())
            }
            Frame::Join { partition, view } => {
                self.on_join(link, partition, view);
                Ok(())
            }
            Frame::Pong => Ok(()),
        };
        self.settle(host);
        result
    }

    /// Sends a message that is not the replicator's; false if there is no such link, or it is full.
    pub fn message(&mut self, link: LinkId, bytes: &[u8]) -> bool {
        let bytes_max = self.config.output_bytes_soft;
        let is_fit = bytes.len() <= crate::frame::RECORD_BYTES_MAX;
        let Some(it) = self.link_mut(link).filter(|it| !it.is_stale && is_fit) else {
            return false;
        };
        if it.output.unsent() > bytes_max {
            return false;
        }
        self.put_frame(link, &Frame::Message(bytes));
        true
    }

    /// The stream on which this brick sends to `peer`, if it is connected.
    #[must_use]
    pub fn link_to(&self, peer: Seat) -> Option<LinkId> {
        self.peers.get(&peer)?.outgoing
    }

    /// A link with bytes to send; it is named again when it has more.
    pub fn poll_output(&mut self) -> Option<LinkId> {
        while let Some(id) = self.outputs.pop_front() {
            if let Some(link) = self.link_mut(id) {
                link.output.is_queued = false;
                if link.output.unsent() > 0 {
                    return Some(id);
                }
            }
        }
        None
    }

    /// The bytes to send on a link.
    #[must_use]
    pub fn output(&self, link: LinkId) -> &[u8] {
        self.link(link)
            .map_or(&[], |link| &link.output.bytes[link.output.sent..])
    }

    /// `n` of [`Self::output`]'s bytes are sent.
    pub fn on_sent(&mut self, link: LinkId, n: usize) {
        if let Some(link) = self.link_mut(link) {
            link.output.on_sent(n);
        }
    }

    /// Whether copies may be handed over for this link.
    #[must_use]
    pub fn has_room(&self, link: LinkId) -> bool {
        let link = self.link(link);
        link.is_some_and(|it| !it.is_stale && it.output.unsent() < self.config.copy_bytes_max)
    }

    /// Writes one frame, outside of a turn.
    pub(crate) fn put_frame(&mut self, id: LinkId, frame: &Frame<'_>) {
        if let Some(link) = self.link_mut(id).filter(|it| !it.is_stale) {
            link.put(frame);
            self.queue_output(id);
        }
    }

    pub(crate) fn queue_output(&mut self, id: LinkId) {
        let Some(link) = self.link_mut(id) else {
            return;
        };
        link.output.is_told = true;
        if !std::mem::replace(&mut link.output.is_queued, true) {
            self.outputs.push_back(id);
        }
    }

    /// Another stream has taken this one's place.
    fn supersede(&mut self, id: LinkId) {
        self.detach(id);
        if let Some(link) = self.link_mut(id) {
            link.is_stale = true;
            let reason = "a newer stream took its place";
            self.requests.push_back(Request::Close { link: id, reason });
        }
    }

    /// A stream to a peer is there: the partitions that want it begin on it.
    fn attach(&mut self, id: LinkId, peer: Seat) {
        for slot in 0..self.partitions.count() {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            let member = it.lead.members.iter_mut().find(|it| it.seat == peer);
            if let Some(member) = member {
                member.link = Some(id);
                member.phase = Phase::Due;
                self.make_due(slot);
            }
        }
    }

    /// A stream is gone: nothing of it counts any more.
    fn detach(&mut self, id: LinkId) {
        let Some((peer, direction)) = self.link(id).map(|it| (it.peer, it.direction)) else {
            return;
        };
        for slot in 0..self.partitions.count() {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            match direction {
                Direction::Incoming => {
                    let follow = &mut it.follow;
                    if follow.stream == Some(id) || follow.claimed == Some(id) {
                        follow.detach(it.log.committed);
                    }
                }
                Direction::Outgoing => self.lose(slot, id, peer),
            }
        }
    }

    fn lose(&mut self, slot: u32, id: LinkId, peer: Seat) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let mut members = it.lead.members.iter_mut();
        if let Some(member) = members.find(|it| it.link == Some(id)) {
            member.link = None;
            self.fall_out(slot, peer, Phase::Unlinked);
        }
    }
}
