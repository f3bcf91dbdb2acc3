//! The link table: which streams there are, and which other bricks are wanted.
//!
//! In:  streams that come and go (`streams`), members that are wanted (`view`). Out: frames to be sent, streams to be
//!      dialed and closed.
//!
//! Invariant: a stream that is stale gets no frame, and nothing that comes on it counts (rule
//! `votes belong to a stream`).

use crate::frame::{Frame, Refuse};
use crate::link::{Link, REFUSED_MAX};
use crate::member::Member;
use crate::pace::TICK_MAX;
use crate::ready::{Ready, Want};
use crate::{LinkId, ReplicatorConfig};
use brickyard_routing::Replica;
use brickyard_types::{Instant, PartitionId, View};
use std::collections::BTreeMap;
use std::time::Duration;

/// How soon a stream that is not there is asked for again. Who dials makes pauses of its own: here it is only said that
/// the stream is wanted still, and writes wait for it.
const DIAL_AGAIN: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Links {
    links: Vec<Option<Link>>,
    pub(crate) peers: BTreeMap<Replica, Peer>,
    /// Links with something in this turn.
    touched: Vec<LinkId>,
}

/// Another brick in one of its lives.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Partitions that want a stream to it.
    pub(crate) wanted: u32,
    /// The stream to it.
    pub(crate) outgoing: Option<LinkId>,
    /// The stream from it, and its number.
    pub(crate) incoming: Option<(u64, LinkId)>,
    pub(crate) dialed_at: Option<Instant>,
    /// For how long nothing has come on the stream to it, or there was none.
    silent_for: Duration,
}

impl Links {
    #[inline]
    pub(crate) fn get(&self, link: LinkId) -> Option<&Link> {
        self.links.get(link.0 as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(link.0 as usize)?.as_mut()
    }

    /// All of them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut().flatten()
    }

    pub(crate) fn add(&mut self, link: Link) {
        let at = link.id.0 as usize;
        if self.links.len() <= at {
            self.links.resize_with(at + 1, || None);
        }
        assert!(self.links[at].is_none(), "link {} is in use", link.id);
        self.links[at] = Some(link);
    }

    pub(crate) fn remove(&mut self, link: LinkId) -> Option<Link> {
        let gone = self.links.get_mut(link.0 as usize)?.take()?;
        assert_eq!(gone.id, link, "a link in another's place");
        self.touched.retain(|it| *it != link);
        Some(gone)
    }

    /// The stream on which a member gets its records.
    #[inline]
    pub(crate) fn of(&mut self, member: &Member) -> Option<&mut Link> {
        let link = self.get_mut(member.link?)?;
        assert_eq!(link.peer, member.replica, "a member on another's stream");
        (!link.is_stale).then_some(link)
    }

    /// The member's stream gets its turn's end in this turn.
    #[inline]
    pub(crate) fn touch(&mut self, link: LinkId) {
        if let Some(it) = self.get_mut(link)
            && !std::mem::replace(&mut it.sender.is_touched, true)
        {
            self.touched.push(link);
        }
    }

    /// The streams that get a turn's end, to be given back with [`Self::put_touched`].
    pub(crate) fn take_touched(&mut self) -> Vec<LinkId> {
        std::mem::take(&mut self.touched)
    }

    /// Keeps the memory of that list.
    pub(crate) fn put_touched(&mut self, touched: Vec<LinkId>) {
        assert!(touched.is_empty() && self.touched.is_empty());
        self.touched = touched;
    }

    /// Sends a frame, outside of a turn.
    pub(crate) fn send(&self, link: LinkId, frame: &Frame<'_>, ready: &mut Ready) {
        if self.get(link).is_some_and(|it| !it.is_stale) {
            ready.frame(link, frame);
        }
    }

    /// Tells the sender that no vote of this stream from here on covers the partition.
    pub(crate) fn refuse(&mut self, link: LinkId, refuse: Refuse, ready: &mut Ready) {
        let Some(it) = self.get_mut(link) else {
            return;
        };
        let partition = refuse.partition;
        it.receiver.refused.insert(partition, refuse.view);
        it.receiver.done.retain(|done| done.1 != partition);
        if it.receiver.refused.len() > REFUSED_MAX {
            self.shut(link, "the peer began partitions that there are not", ready);
            return;
        }
        // Rule `votes cover what was appended`: the refusal is in the stream before any vote that passes it. Votes
        // are written at the end of the turn, and in order.
        self.send(link, &Frame::Refuse(refuse), ready);
    }

    /// Whether records of the partition on this stream are passed over.
    pub(crate) fn is_refused(&self, link: LinkId, partition: PartitionId) -> bool {
        let link = self.get(link);
        link.is_some_and(|it| it.receiver.refused.contains_key(&partition))
    }

    /// Nothing more of this stream counts; it is to be closed.
    pub(crate) fn shut(&mut self, link: LinkId, reason: &'static str, ready: &mut Ready) {
        if let Some(it) = self.get_mut(link)
            && !std::mem::replace(&mut it.is_stale, true)
        {
            ready.close(link, reason);
        }
    }

    /// A partition wants a stream to a member. Returns the one that there is.
    pub(crate) fn want(
        &mut self,
        replica: Replica,
        now: Instant,
        ready: &mut Ready,
    ) -> Option<LinkId> {
        let peer = self.peers.entry(replica).or_default();
        peer.wanted += 1;
        if peer.outgoing.is_none() && peer.wanted == 1 {
            peer.dialed_at = Some(now);
            ready.request(Want::Dial(replica));
        }
        peer.outgoing
    }

    /// A partition wants it no more.
    pub(crate) fn release(&mut self, replica: Replica) {
        if let Some(peer) = self.peers.get_mut(&replica) {
            assert!(peer.wanted > 0, "{replica} was not wanted");
            peer.wanted -= 1;
        }
        self.drop_idle(replica);
    }

    /// A peer that nobody wants, and that is not connected, is forgotten.
    pub(crate) fn drop_idle(&mut self, replica: Replica) {
        let is_idle = self.peers.get(&replica).is_some_and(|peer| {
            peer.wanted == 0 && peer.outgoing.is_none() && peer.incoming.is_none()
        });
        if is_idle {
            self.peers.remove(&replica);
        }
    }

    /// Asks again for streams that are wanted and not there.
    pub(crate) fn dial(&mut self, now: Instant, ready: &mut Ready) {
        for (replica, peer) in &mut self.peers {
            let is_wanted = peer.wanted > 0 && peer.outgoing.is_none();
            let is_early = peer.dialed_at.is_some_and(|at| now - at < DIAL_AGAIN);
            if is_wanted && !is_early {
                peer.dialed_at = Some(now);
                ready.request(Want::Dial(*replica));
            }
        }
    }

    /// Shuts streams on which nothing was heard for long.
    /// Time counts as far as ticks come.
    pub(crate) fn watch(&mut self, passed: Duration, config: &ReplicatorConfig, ready: &mut Ready) {
        for link in self.links.iter_mut().flatten().filter(|it| !it.is_stale) {
            link.silent_for = match std::mem::take(&mut link.has_contact) {
                true => Duration::ZERO,
                false => link.silent_for + passed.min(TICK_MAX),
            };
            if link.silent_for >= config.silence_max {
                link.is_stale = true;
                ready.close(link.id, "nothing was heard on it");
            }
        }
        for peer in self.peers.values_mut() {
            let link = peer
                .outgoing
                .and_then(|id| self.links.get(id.0 as usize)?.as_ref());
            peer.silent_for = match link.filter(|it| !it.is_stale) {
                Some(link) => link.silent_for,
                None => peer.silent_for + passed.min(TICK_MAX),
            };
        }
    }

    /// For how long nothing was heard of a brick that gets records.
    pub(crate) fn silence_of(&self, replica: Replica) -> Duration {
        let peer = self.peers.get(&replica);
        peer.map_or(Duration::ZERO, |it| it.silent_for)
    }

    /// The map knows the primary now whose stream was refused: it is asked to begin again.
    pub(crate) fn ask_again(
        &self,
        primary: Replica,
        partition: PartitionId,
        view: View,
        ready: &mut Ready,
    ) {
        let peer = self.peers.get(&primary);
        if let Some((_, link)) = peer.and_then(|peer| peer.incoming)
            && self.is_refused(link, partition)
        {
            self.send(link, &Frame::Join { partition, view }, ready);
        }
    }
}
