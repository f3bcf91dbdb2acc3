//! A whole brick, minus its I/O: what it is made of and how it is driven.
//!
//! In:  connections' bytes ([`Brick::input`]), [`Event`]s. Out: connections' replies
//!      ([`Brick::output`]), [`Effect`]s.
//!
//! One turn of the driver's loop: [`Brick::begin_turn`]; bytes and events in; [`Brick::run`] until
//! [`Brick::has_work`] says no (or the turn's budget is used up); effects, outputs, closed
//! connections out. Calling a `poll_` once too often returns `None` and does nothing.
//!
//! Invariants:
//! - Nothing here blocks, reads a clock or draws a random number that it was not given.
//! - What any one client can make grow is bounded: its input by the wire's limits, its output by
//!   `output_bytes_max`, its share of a turn by the batch.
//!
//! Not here: what comes from clients and goes to them (`clients`), what a request does (`batch`, `keyed`,
//! `session`), what events do (`events`).
//! Source: Gribble et al., OSDI 2000, section 4: a brick is a single-threaded, event-driven store.

use crate::accepted::{Accepted, ConnectionId};
use crate::append::BatchId;
use crate::batch::Batch;
use crate::changes::Feeds;
use crate::clean::Cleaner;
use crate::clients::Clients;
use crate::core::{Core, Workshop};
use crate::effect::Effect;
use crate::evictions::Evictions;
use crate::forward::Outbox;
use crate::log::Log;
use crate::meter::Meter;
use crate::moves::Moves;
use crate::output::Frontier;
use crate::peer::{Peers, take_frames};
use crate::random::Random;
use crate::remote::Remotes;
use crate::replica::Replicas;
use crate::replica::wants::carry_out_wants;
use crate::requests::Requests;
use crate::segments::Segments;
use crate::session::calls::Calls;
use crate::session::export::Exports;
use crate::shared::Shared;
use crate::tables::Tables;
use crate::tracking::Holders;
use crate::upkeep::Upkeep;
use crate::watch::NegativeVersions;
use brickyard_metadata::Catalog;
use brickyard_replication::{Direction, LinkId};
use brickyard_routing::{Member, Replica};
use brickyard_types::{BrickId, Incarnation, Instant, UnixMillis};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Makes other random bits of those of a start, for names of transactions.
const COORDINATOR: u64 = 0x5bd1_e995_7b7d_159b;

/// What a brick is made with.
#[derive(Debug)]
pub struct BrickConfig {
    /// Which brick of the node this is.
    pub id: BrickId,
    /// This life of the node; 0 until it is registered.
    pub incarnation: Incarnation,
    /// How many bricks the node has.
    pub bricks: u32,
    /// What all bricks of the node see.
    pub shared: Arc<Shared>,
    /// The tables and their maps.
    pub catalog: Arc<Catalog>,
    /// Random bits of this start.
    pub seed: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Brick {
    pub(crate) core: Core,
    /// The life of the node that begins when the log is read.
    pub(crate) incarnation: Incarnation,
    pub(crate) clients: Clients,
    /// What bricks of other nodes were asked.
    pub(crate) remotes: Remotes,
    /// Streams to and from bricks of other nodes.
    pub(crate) peers: Peers,
    pub(crate) calls: Calls,
    pub(crate) cleaner: Cleaner,
    /// Partitions that are being read as they were.
    pub(crate) exports: Exports,
    pub(crate) batch: Batch,
    pub(crate) meter: Meter,
    pub(crate) is_stopping: bool,
    /// What this turn has for other nodes is on its way.
    has_ended_turn: bool,
    /// How far the log had come when replies were let out last.
    pub(crate) let_out_upto: Frontier,
    pub(crate) upkeep: Upkeep,
    pub(crate) evictions: Evictions,
    /// Clients that follow a table.
    pub(crate) feeds: Feeds,
}

impl Brick {
    /// A brick that has no connections and has not read its log yet.
    #[must_use]
    pub fn new(config: BrickConfig) -> Self {
        let BrickConfig {
            id,
            incarnation,
            bricks,
            shared,
            catalog,
            seed,
        } = config;
        assert_eq!(
            bricks as usize,
            shared.stats.len(),
            "bricks, and bricks that are counted"
        );
        let node = shared.identity.node;
        let recovery_bandwidth = shared.limits.recovery_bandwidth;
        let segment_bytes = shared.limits.segment_bytes;
        let replicas = Replicas::new(
            Replica {
                member: Member { node, brick: id },
                incarnation: Incarnation(0),
            },
            &shared.limits,
        );
        let mut core = Core {
            id,
            users: shared.users.with_accounts(catalog.accounts()),
            workshop: Workshop {
                functions: shared.scripts.functions(catalog.libraries()),
                ..Workshop::default()
            },
            shared,
            now: Instant(0),
            unix: UnixMillis(0),
            tables: Tables::new(Arc::clone(&catalog)),
            negative_versions: NegativeVersions::new(Random::new(!seed).next()),
            log: Log::new(),
            segments: Segments::new(segment_bytes),
            requests: Requests::new(Random::new(seed ^ COORDINATOR).next()),
            outbox: Outbox::new(node, bricks),
            effects: VecDeque::new(),
            random: Random::new(seed),
            replicas,
            moves: Moves::new(recovery_bandwidth),
            holders: Holders::new(Member { node, brick: id }),
        };
        core.adoption().adopt(catalog);
        Self {
            core,
            incarnation,
            clients: Clients::default(),
            remotes: Remotes::default(),
            peers: Peers::default(),
            calls: Calls::default(),
            cleaner: Cleaner::default(),
            exports: Exports::default(),
            batch: Batch::default(),
            meter: Meter::default(),
            is_stopping: false,
            has_ended_turn: false,
            let_out_upto: Frontier::default(),
            upkeep: Upkeep::default(),
            evictions: Evictions::default(),
            feeds: Feeds::default(),
        }
    }

    /// The version of the catalog that this brick works by.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.core.tables.catalog().version().0
    }

    /// Whether nothing that was accepted is still on its way to the log.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.core.is_settled()
            && self.core.requests.is_idle()
            && self.remotes.is_idle()
            && !self.clients.has_answerable()
    }

    /// Whether [`Self::run`] has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.clients.has_queued()
            || self.clients.has_roomy()
            || (self.core.requests.has_ready() && !self.remotes.is_choked())
            || (self.core.replicas.is_woken
                && (self.core.requests.has_view()
                    || !self.core.replicas.new_leads.partitions.is_empty()))
            || self.core.requests.distributed.has_work()
            || self.core.tables.has_removed()
            || self.core.moves.offline.has_work()
            || self.upkeep.has_work()
            || self.feeds.has_due()
    }

    /// When a [`crate::Event::Tick`] is wanted at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let tick = self.core.now + Duration::from_millis(100);
        let silence = self.remotes.failure_detector.check_at();
        let rests_until = self.core.moves.catch_ups.rests_until();
        // A walk that waits for anything else is woken by that.
        let rest = rests_until.filter(|it| *it > self.core.now);
        let clean = self.cleaner.rests_until();
        let transaction = self.core.requests.distributed.next_deadline();
        // Answers wait for the next turn, and that for nothing; so does what clients are to be told.
        let has_answers =
            self.clients.trackers.has_work() || self.core.holders.leases.has_outgoing();
        let answers = has_answers.then_some(self.core.now);
        let leases = self.core.holders.leases.wakes_next();
        let pause = self.core.shared.oversight.pause.ends_at(self.core.now);
        let pause = pause.filter(|_| self.clients.has_held());
        [silence, rest, clean, transaction, answers, leases, pause]
            .into_iter()
            .flatten()
            .chain([tick])
            .min()
    }

    /// Tells the brick what time it is; all that follows happens at that time.
    pub fn begin_turn(&mut self, now: Instant, unix: UnixMillis) {
        assert!(now >= self.core.now, "time goes back to {now:?}");
        self.core.now = now;
        self.core.unix = unix;
        self.core.replicas.new_leads.heard = self.core.replicas.new_leads.heard.max(now);
        self.core.stats().turns.add(1);
        self.has_ended_turn = false;
        self.core.replicas.check_lease(now);
        if self.core.holders.leases.take_wakes(now) {
            self.core.replicas.wake();
        }
        self.copies().answer();
    }

    /// Tells the brick how much of a core's time its loop has taken since it began; a few times a second, for what it tells
    /// of its load.
    pub fn note_taken(&mut self, taken: Duration) {
        self.upkeep.cpu_load.note_taken(taken);
    }

    /// Tells the brick what time it is now that all bytes of the next [`Self::run`] have been read: a lease
    /// that ran out meanwhile is noticed (rule `leases count from the request`).
    pub fn begin_batch(&mut self, now: Instant) {
        self.core.replicas.new_leads.heard = self.core.replicas.new_leads.heard.max(now);
        self.core.replicas.check_lease(now);
    }

    /// The turn goes on with events: what comes of them for other nodes leaves with it, too.
    pub fn continue_turn(&mut self) {
        self.has_ended_turn = false;
    }

    /// What leaves for other nodes does so once a turn, after everything was executed, and once more if the turn went on.
    fn end_turn(&mut self) {
        if !std::mem::replace(&mut self.has_ended_turn, true) {
            self.wake_waiters();
            self.send_notices();
            self.send_published();
            self.send_remote();
            self.cleaner.go_on(&mut self.core.parts().outside);
            self.maintain_catch_ups();
            self.core.adoption().bring_back();
            let mut core = self.core.parts();
            core.replication.flush();
            carry_out_wants(&mut core.replication, core.catch_ups, &mut core.outside);
        }
    }

    /// The next effect to carry out.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        loop {
            if let Some(effect) = self.next_effect() {
                return Some(effect);
            }
            // What has no log commits without any event.
            if self.core.log.frontier() == self.let_out_upto {
                return None;
            }
            self.let_out();
        }
    }

    fn next_effect(&mut self) -> Option<Effect> {
        if let Some(effect) = self.core.effects.pop_front() {
            return Some(effect);
        }
        self.end_turn();
        if let Some(effect) = self.core.effects.pop_front() {
            return Some(effect);
        }
        if let Some(append) = self.core.log.take_batch(self.core.now) {
            let stats = self.core.stats();
            stats.log.batches.add(1);
            stats.log.bytes.add(append.bytes.len() as u64);
            stats
                .log
                .pending_bytes
                .set(self.core.log.pending_bytes() as u64);
            return Some(Effect::Append(append));
        }
        self.core
            .outbox
            .take()
            .map(|(brick, messages)| Effect::Forward(brick, messages))
    }

    /// A number for a stream that is about to be opened.
    pub fn peer_number(&mut self) -> LinkId {
        self.peers.number()
    }

    /// A stream is connected, and both ends have said who they are.
    pub fn peer_opened(
        &mut self,
        link: LinkId,
        peer: Replica,
        direction: Direction,
        connection: u64,
    ) {
        self.peers.open(link, peer, direction);
        if direction == Direction::Outgoing {
            self.remotes.failure_detector.hear(peer, self.core.now);
        }
        self.core.replicas.engine.outbox.open(link, direction);
        if direction == Direction::Incoming {
            self.core.requests.stalls.forget(peer.member);
        }
        self.core
            .replication()
            .replicate(|replicator| replicator.on_link(link, peer, direction, connection));
        self.core.replicas.wake();
    }

    /// Memory that its tables take: records, indexes, and space that is not used again yet.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        let tables = self.core.tables.iter();
        tables.map(|state| state.table.memory_used() as u64).sum()
    }

    /// Who dialed the stream.
    #[must_use]
    pub fn peer_direction(&self, link: LinkId) -> Option<Direction> {
        self.peers.end(link).map(|(_, direction)| direction)
    }

    /// A stream is closed, whoever closed it.
    pub fn peer_closed(&mut self, link: LinkId) {
        let Some((peer, direction)) = self.peers.close(link) else {
            return;
        };
        self.core.replicas.engine.outbox.close(link);
        self.core
            .replication()
            .replicate(|replicator| replicator.on_closed(link));
        self.tell_lost();
        if direction == Direction::Outgoing {
            self.on_remote_lost(peer);
        } else if self.peers.from(peer.member).is_none() {
            self.core.requests.stalls.forget(peer.member);
        }
    }

    /// The buffer to which the driver appends what the peer sent; call [`Self::on_peer_received`] after
    /// that.
    ///
    /// # Panics
    /// If there is no such stream (a caller bug).
    pub fn peer_input(&mut self, link: LinkId) -> &mut Vec<u8> {
        let input = self.peers.input(link);
        input.expect("the driver knows its streams")
    }

    /// The input has grown: whole frames are taken.
    pub fn on_peer_received(&mut self, link: LinkId) {
        let Some((peer, direction)) = self.peers.end(link) else {
            return;
        };
        if direction == Direction::Outgoing {
            self.remotes.failure_detector.hear(peer, self.core.now);
        }
        let mut core = self.core.parts();
        let effects = core.outside.effects;
        take_frames(&mut core.replication, effects, &mut self.peers, link);
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
    /// obeyed, and the one up to which every view that it leads is accepted, with the log synced (rules
    /// `grants count for adopted maps` and `a primary accepts its view`). To be told after the turn's replies have
    /// left.
    #[must_use]
    pub fn acknowledged(&self) -> (u64, u64) {
        let replicator = self.core.replicas.replicator();
        (replicator.stopped(), replicator.accepted())
    }

    /// The batch that the next append will be, for drivers that match answers to questions.
    #[must_use]
    pub fn building(&self) -> BatchId {
        self.core.building()
    }

    /// Takes a new connection.
    ///
    /// # Errors
    /// The bytes to send before it is closed: there are too many connections.
    pub fn accept(&mut self, accepted: Accepted) -> Result<ConnectionId, Vec<u8>> {
        let may_accept = !self.is_stopping;
        let id = may_accept
            .then(|| self.clients.accept(&self.core, accepted))
            .flatten();
        id.ok_or_else(|| {
            self.core.stats().clients.refused.add(1);
            b"-ERR max number of clients reached\r\n".to_vec()
        })
    }

    /// The buffer to which the driver appends what the client sent; call [`Self::on_received`]
    /// after that.
    ///
    /// # Panics
    /// If there is no such connection (a caller bug).
    #[inline]
    pub fn input(&mut self, id: ConnectionId) -> &mut Vec<u8> {
        self.clients[id].input.buffer()
    }

    /// Whether the driver should read from the connection. When not, [`Self::poll_resumed`] says
    /// when to go on: that is how a client feels that it sends faster than it is served.
    #[must_use]
    pub fn wants_input(&self, id: ConnectionId) -> bool {
        self.clients.get(id).is_some_and(|it| !it.marks.is_paused)
    }

    /// The input has grown.
    #[inline]
    pub fn on_received(&mut self, id: ConnectionId) {
        self.clients.on_received(id, self.core.now);
    }

    /// The client will send no more. What it has sent is executed, then the connection is closed.
    pub fn on_end_of_stream(&mut self, id: ConnectionId) {
        self.clients.on_end_of_stream(id);
    }

    /// The connection broke: replies can no longer be delivered.
    pub fn on_error(&mut self, id: ConnectionId) {
        self.clients.on_broken(id);
    }

    /// A connection with output to send.
    #[inline]
    pub fn poll_output(&mut self) -> Option<ConnectionId> {
        self.clients.take_listed()
    }

    /// What may be sent to the client now.
    #[inline]
    #[must_use]
    pub fn output(&self, id: ConnectionId) -> &[u8] {
        self.clients.get(id).map_or(&[], |it| it.output.ready())
    }

    /// `len` bytes of the output were sent.
    #[inline]
    pub fn on_sent(&mut self, id: ConnectionId, len: usize) {
        self.clients.on_sent(id, len, self.core.now);
        self.core.stats().clients.bytes_out.add(len as u64);
    }

    /// A connection from which the driver should read again.
    pub fn poll_resumed(&mut self) -> Option<ConnectionId> {
        self.clients.take_resumed()
    }

    /// A connection to close, after what [`Self::output`] still has was sent as far as the socket
    /// takes it. Its id may be given out again at once.
    pub fn poll_closed(&mut self) -> Option<ConnectionId> {
        let core = &self.core;
        let id = self.clients.take_closed(core)?;
        while let Some((at, client)) = self.clients.take_orphaned() {
            self.resume_at(at, client);
        }
        self.exports.end(&mut self.core, id);
        self.feeds.end(id);
        self.tell_cleaner();
        Some(id)
    }

    /// Accepts no more connections; those that are there go on until the driver closes them.
    pub fn begin_shutdown(&mut self) {
        self.is_stopping = true;
    }

    /// The run before took `duration`: goes into latency histograms and the slow log.
    pub fn on_ran(&mut self, duration: Duration) {
        let core = &self.core;
        self.meter
            .on_ran(duration, core.stats(), &core.shared.settings);
    }
}

#[cfg(test)]
#[path = "brick_test.rs"]
mod brick_test;
#[cfg(test)]
#[path = "review_test.rs"]
mod review_test;
