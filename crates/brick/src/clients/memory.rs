//! What clients' buffers take, against the node's one bound for all of them (`maxmemory_clients`).
//!
//! In:  connections whose buffers have changed; the bound; what the node's other bricks hold. Out: who is closed for it.
//!
//! HOW IT IS COUNTED. A connection is counted anew whenever it received, was answered or sent, and all are once a second, so that
//! the sum is at hand and what slips through does so for a second at most. A brick publishes its sum, and its worst connection, when
//! it has changed by a mebibyte, and reads what the others publish: no lock, and no look at a connection while all is well.
//!
//! Above 7/8 of the bound, buffers of connections that wait for nothing are given back. Above the bound the brick that has the node's worst
//! connection closes it, and goes on until the sum is within the bound, or another brick has a worse one. A write of
//! such a client is not undone: it may hear nothing of it, as of any that was under way when a connection breaks.
//!
//! Invariants:
//! - The sum is what the connections were last counted with.
//! - Who is closed holds more than any other connection of the brick that may be closed as well.
//!
//! Not here: bounds of one connection (`connection`, `room`), and of what lies in the system's socket buffers.

use super::Clients;
use crate::accepted::ConnectionId;
use crate::connection::Connection;
use crate::stats::ClientStats;
use brickyard_types::Instant;

/// The sum is published when it has changed by so much.
const PUBLISHED_BY: usize = 1 << 20;

/// Who holds less is not closed: it would be but one of very many, and a client that only connects would be closed at once.
const EVICTED_MIN: usize = 4 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct BufferBytes {
    /// What each connection was last counted with.
    counted: Vec<usize>,
    sum: usize,
    published: usize,
    /// At least what the worst connection holds; known exactly when all have been counted.
    worst: usize,
}

/// A client that was closed for what it held.
#[derive(Debug)]
pub(crate) struct Evicted {
    pub(crate) client: u64,
    pub(crate) peer: String,
    pub(crate) bytes: usize,
}

impl Connection {
    /// Bytes that it makes the node hold, room that is reserved for replies among them.
    #[inline]
    fn buffer_bytes(&self) -> usize {
        let multi = &self.session.multi;
        let queue = multi.queue.as_ref().map_or(0, |queue| queue.bytes);
        let gathers = self.gathers.holding();
        let told = self.session.told.memory_bytes();
        size_of::<Self>()
            + self.input.memory_bytes()
            + self.output.len()
            + gathers.room
            + gathers.cost
            + self.returned.bytes()
            + queue
            + told
    }
}

impl Clients {
    /// A connection's buffers have changed.
    #[inline]
    pub(crate) fn recount(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get(id.0 as usize) {
            self.buffer_bytes.count(id, connection.buffer_bytes());
        }
    }

    /// A connection is gone.
    pub(super) fn uncount(&mut self, id: ConnectionId) {
        self.buffer_bytes.count(id, 0);
    }

    /// Counts all connections; once a second.
    pub(crate) fn recount_all(&mut self) {
        let mut worst = 0;
        for (_, connection) in &self.connections {
            let bytes = connection.buffer_bytes();
            self.buffer_bytes.count(connection.id, bytes);
            worst = worst.max(bytes);
        }
        self.buffer_bytes.worst = worst;
    }

    /// Whether the sum has changed enough to be published.
    #[inline]
    pub(crate) fn has_news_of_memory(&self) -> bool {
        let it = &self.buffer_bytes;
        it.sum.abs_diff(it.published) >= PUBLISHED_BY
    }

    /// Tells the node's bricks what this one's clients hold.
    pub(crate) fn publish_memory(&mut self, stats: &ClientStats) {
        let it = &mut self.buffer_bytes;
        it.published = it.sum;
        stats.buffer_bytes.set(it.sum as u64);
        stats.worst_buffer_bytes.set(it.worst as u64);
    }

    /// Gives back what connections keep for requests to come, unless they were active since `since`.
    pub(crate) fn give_back_idle(&mut self, since: Instant) {
        for (_, connection) in &mut self.connections {
            if connection.last_active < since {
                connection.input.give_back_spare();
            }
        }
        self.recount_all();
    }

    /// Closes the connection that holds most, if that is more than `least`, the most that one of another brick holds.
    pub(crate) fn evict_worst(&mut self, least: usize) -> Option<Evicted> {
        let living = self.iter().filter(|it| !it.end.is_broken);
        // Who asked for it (`CLIENT NO-EVICT`) is closed behind all others: anybody may ask, and the bound holds all the same.
        let worst = living.max_by_key(|it| {
            let bytes = self.buffer_bytes.of(it.id);
            (!it.session.no_evict && bytes >= EVICTED_MIN, bytes)
        })?;
        let (id, bytes) = (worst.id, self.buffer_bytes.of(worst.id));
        let evicted = Evicted {
            client: worst.client,
            peer: worst.accepted.peer.clone(),
            bytes,
        };
        self.buffer_bytes.worst = bytes;
        if bytes < least.max(EVICTED_MIN) {
            return None;
        }
        // It is gone with this turn: what it holds is not waited for.
        self.uncount(id);
        self.on_broken(id);
        Some(evicted)
    }
}

impl BufferBytes {
    #[inline]
    fn of(&self, id: ConnectionId) -> usize {
        self.counted.get(id.0 as usize).copied().unwrap_or(0)
    }

    #[inline]
    fn count(&mut self, id: ConnectionId, now: usize) {
        let at = id.0 as usize;
        if at >= self.counted.len() {
            self.counted.resize(at + 1, 0);
        }
        let before = std::mem::replace(&mut self.counted[at], now);
        assert!(
            self.sum >= before,
            "{before} bytes of {} were counted",
            self.sum
        );
        self.sum = self.sum - before + now;
        self.worst = self.worst.max(now);
    }
}
