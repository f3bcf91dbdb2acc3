//! The clients of a brick: connections that come and go, and which of them is to be looked at for what.
//!
//! In:  connections, their bytes, their replies. Out: who has input to execute, output to send, room to be read again, and who is to be
//!      closed.
//!
//! Each list of connections has a mark on the connection ([`Marks`]), so that it is in the list once, and that costs no search. Only this
//! file changes lists and marks.
//!
//! Invariants:
//! - A connection is executed while it may, and is read while it can be executed or its input is short.
//! - A connection is in a list exactly if its mark says so; one that was removed is in none.
//!
//! The files: this one the lists, `subscribers` (who subscribes to channels, or watches), `trackers` (who keeps copies of keys), `memory` (what buffers take, and who is closed for it), `reply` (replies and their placeholders), `room` (for
//! replies that are made elsewhere), `user` (who acts, and where). Not here: what a request does (`batch`, `execute`).

mod memory;
mod reply;
mod room;
mod subscribers;
mod trackers;
mod user;

pub(crate) use memory::Evicted;
pub(crate) use reply::{Last, wants_reply};
pub(crate) use subscribers::Desk;
pub(crate) use trackers::{members, note_reads, take_own, track};
use user::reenter_user;
pub(crate) use user::{database_of, enter_anonymous, enter_user};

use crate::accepted::{Accepted, ConnectionId};
use crate::connection::{Blocked, Connection, INPUT_SOFT};
use crate::core::Core;
use crate::log::Log;
use crate::request::Token;
use crate::settings::Settings;
use crate::stats::Stats;
use crate::trackers::Trackers;
use brickyard_routing::Member;
use brickyard_types::Instant;
use brickyard_wire::Protocol;
use memory::BufferBytes;
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use subscribers::Subscribers;

/// Connections may be at most this many on one brick: what a driver's token can name.
const CONNECTIONS_MAX: usize = 1 << 24;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    connections: Slab<Connection>,
    /// With input to execute.
    queued: VecDeque<ConnectionId>,
    /// With output to send.
    listed: VecDeque<ConnectionId>,
    /// With replies that wait for the log.
    waiting: Vec<ConnectionId>,
    /// That the driver should read again.
    resumed: Vec<ConnectionId>,
    /// With requests that came back for want of room, and are asked again.
    roomy: Vec<ConnectionId>,
    /// Of clients that are gone: where they were stalled.
    orphaned: Vec<(Member, u64)>,
    /// That execute nothing more.
    closing: Vec<ConnectionId>,
    /// What begins when all that the connection asked before it has been answered.
    begins_last: BTreeMap<ConnectionId, Last>,
    /// That may be over when the batch is done.
    ending: Vec<ConnectionId>,
    /// Told of changes of the map, with the client that asked.
    map_watchers: Vec<(ConnectionId, u64)>,
    subscribers: Subscribers,
    pub(crate) trackers: Trackers,
    /// Whose next command waits for the end of a pause, with the client.
    held: Vec<(ConnectionId, u64)>,
    /// A batch is being executed.
    is_running: bool,
    buffer_bytes: BufferBytes,
}

impl Index<ConnectionId> for Clients {
    type Output = Connection;

    #[inline]
    fn index(&self, id: ConnectionId) -> &Connection {
        &self.connections[id.0 as usize]
    }
}

impl IndexMut<ConnectionId> for Clients {
    #[inline]
    fn index_mut(&mut self, id: ConnectionId) -> &mut Connection {
        &mut self.connections[id.0 as usize]
    }
}

impl Clients {
    #[inline]
    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.0 as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id.0 as usize)
    }

    /// The connection that `token` names, if it is still that client's.
    #[inline]
    pub(crate) fn named(&self, token: Token) -> Option<&Connection> {
        self.get(token.connection)
            .filter(|it| it.client == token.client)
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn named_mut(&mut self, token: Token) -> Option<&mut Connection> {
        self.get_mut(token.connection)
            .filter(|it| it.client == token.client)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().map(|(_, connection)| connection)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.connections
            .iter_mut()
            .map(|(_, connection)| connection)
    }

    /// Takes a new connection, or counts that it was refused.
    pub(crate) fn accept(&mut self, core: &Core, accepted: Accepted) -> Option<ConnectionId> {
        let shared = &core.shared;
        let clients = shared.counters.clients.fetch_add(1, Relaxed);
        let max = Settings::load(&shared.settings.maxclients);
        if clients >= max || self.connections.len() >= CONNECTIONS_MAX {
            shared.counters.clients.fetch_sub(1, Relaxed);
            return None;
        }
        let entry = self.connections.vacant_entry();
        let id = ConnectionId(entry.key() as u32);
        let table = core.tables.index_named("default").unwrap_or(0);
        let mut connection = Connection::new(id, accepted, shared, table, core.now, core.unix);
        // Who finds no seat is nobody, until it has said another name or there is one.
        let _entered = enter_anonymous(core, &mut connection);
        shared.directory.add(connection.client, core.id, id);
        entry.insert(connection);
        self.recount(id);
        let stats = core.stats();
        stats.clients.accepted.add(1);
        stats.clients.connected.set(self.connections.len() as u64);
        Some(id)
    }

    /// The input has grown.
    #[inline]
    pub(crate) fn on_received(&mut self, id: ConnectionId, now: Instant) {
        self.recount(id);
        if let Some(connection) = self.get_mut(id) {
            connection.last_active = now;
            if connection.may_execute() && !connection.marks.is_queued {
                self.queue(id);
            } else {
                // It waits, or it sends faster than it is served.
                self.pause(id);
            }
        }
    }

    /// There are other users, or they may do other things: what connections may do is worked out anew, and those of users that
    /// are off or gone end.
    pub(crate) fn change_users(&mut self, core: &Core) {
        let mut ended = Vec::new();
        for (_, connection) in &mut self.connections {
            let Some(user) = &connection.session.user else {
                continue;
            };
            let now = core.users.find_on(&user.name);
            if let Some(now) = now {
                reenter_user(core, connection, now);
            }
            // Who subscribes to what it may not hear any more ends as well, as in Redis.
            let may_stay = now.is_some_and(|now| connection.session.told.may_hear(now));
            if !may_stay {
                ended.push((connection.id, connection.blocked));
            }
        }
        for (id, blocked) in ended {
            // Who has just put an end to itself is told so.
            match blocked {
                Some(Blocked::Control(_)) => self.close(id),
                _ => self.on_broken(id),
            }
        }
    }

    /// The client sends no more: it is closed when what it sent is executed.
    pub(crate) fn on_end_of_stream(&mut self, id: ConnectionId) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        connection.end.is_ended = true;
        if matches!(
            connection.blocked,
            Some(Blocked::Wait { .. } | Blocked::Watch)
        ) {
            // It might wait for ever, and for what it will not read.
            self.on_broken(id);
        } else {
            self.close_if_over(id);
        }
    }

    /// Replies can no longer be delivered.
    pub(crate) fn on_broken(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id) {
            connection.end.is_broken = true;
            self.close(id);
        }
    }

    /// Executes nothing more for the connection and closes it when its replies are sent.
    pub(crate) fn close(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id)
            && !connection.end.is_closing
        {
            connection.end.is_closing = true;
            self.closing.push(id);
        }
    }

    /// Closes the connection if its client has ended it and nothing is left to execute.
    fn close_if_over(&mut self, id: ConnectionId) {
        let is_over = self
            .get(id)
            .is_some_and(|it| it.end.is_ended && !it.marks.is_queued && it.may_execute());
        if !is_over {
            return;
        }
        if self.is_running {
            // Some of its requests may be in the batch: it is looked at again after that.
            self.ending.push(id);
        } else {
            self.close(id);
        }
    }

    /// Whether some connection has input to execute.
    pub(crate) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    pub(crate) fn queued_len(&self) -> usize {
        self.queued.len()
    }

    /// Puts it behind those with input to execute.
    #[inline]
    fn queue(&mut self, id: ConnectionId) {
        let marks = &mut self[id].marks;
        assert!(!marks.is_queued, "{id:?} is queued twice");
        marks.is_queued = true;
        self.queued.push_back(id);
    }

    /// The first with input to execute; it goes back by [`Self::queue_again`] or [`Self::on_parsed`].
    #[inline]
    pub(crate) fn take_queued(&mut self) -> Option<ConnectionId> {
        let id = self.queued.pop_front()?;
        assert!(self[id].marks.is_queued, "{id:?} is not marked as queued");
        Some(id)
    }

    /// There may be more to parse of a connection from [`Self::take_queued`].
    #[inline]
    pub(crate) fn queue_again(&mut self, id: ConnectionId) {
        assert!(self[id].marks.is_queued, "{id:?} was not taken");
        self.queued.push_back(id);
    }

    /// All that a connection from [`Self::take_queued`] has sent so far is parsed, or must wait.
    pub(crate) fn on_parsed(&mut self, id: ConnectionId, has_requests: bool) {
        let connection = &mut self[id];
        assert!(connection.marks.is_queued, "{id:?} was not taken");
        connection.marks.is_queued = false;
        if !connection.may_execute() {
            return;
        }
        // What is left is part of a request, however long: the rest of it is wanted.
        self.unpause(id);
        if !has_requests {
            self.close_if_over(id);
        }
    }

    /// From here to [`Self::end_batch`] requests of a batch are executed.
    pub(crate) fn begin_batch(&mut self) {
        assert!(!self.is_running, "one batch at a time");
        assert!(
            self.ending.is_empty(),
            "{} were not ended",
            self.ending.len()
        );
        self.is_running = true;
    }

    /// The batch was executed: those that are over are closed.
    pub(crate) fn end_batch(&mut self) {
        assert!(self.is_running, "a batch ends that did not begin");
        self.is_running = false;
        while let Some(id) = self.ending.pop() {
            self.close_if_over(id);
        }
    }

    /// A request of the batch cannot run yet: its connection goes on there later.
    pub(crate) fn stop(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id) {
            // The decoder may be inside a request behind this one, which will be parsed anew.
            connection.input.parse_anew();
            self.resume(id);
        }
    }

    /// The next command waits for the end of a pause, in its connection's input.
    pub(crate) fn hold(&mut self, id: ConnectionId) {
        let connection = &mut self[id];
        assert_eq!(connection.blocked, None, "{id:?} executes, and waits");
        connection.blocked = Some(Blocked::Pause);
        connection.input.parse_anew();
        let held = (id, connection.client);
        self.held.push(held);
    }

    /// Whether a command waits for the end of a pause.
    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// The pause is over.
    pub(crate) fn release_held(&mut self) {
        for (id, client) in std::mem::take(&mut self.held) {
            let connection = self.get_mut(id).filter(|it| it.client == client);
            if let Some(connection) = connection {
                connection.blocked.take_if(|it| *it == Blocked::Pause);
                self.resume(id);
            }
        }
    }

    /// The batch has no more requests of this connection: what it may send is listed, its input trimmed.
    pub(crate) fn end_requests(&mut self, id: ConnectionId, stats: &Stats) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        stats.clients.bytes_in.add(connection.input.count());
        connection.input.trim(connection.marks.is_queued);
        let may_execute = connection.may_execute();
        let is_full = !may_execute && connection.input.pending() > 0;
        let is_over = connection.end.is_ended && may_execute && !connection.marks.is_queued;
        self.list(id);
        if is_full {
            self.pause(id);
        } else if is_over {
            self.close(id);
        }
    }

    /// Tells the driver to stop reading from a connection that must wait.
    fn pause(&mut self, id: ConnectionId) {
        let connection = &mut self[id];
        if connection.input.pending() > INPUT_SOFT {
            connection.marks.is_paused = true;
        }
    }

    /// Tells the driver to go on reading.
    fn unpause(&mut self, id: ConnectionId) {
        let marks = &mut self[id].marks;
        if std::mem::take(&mut marks.is_paused) {
            self.resumed.push(id);
        }
    }

    /// Lets a connection go on that may have been waiting for something.
    pub(crate) fn resume(&mut self, id: ConnectionId) {
        let Some(connection) = self.get(id) else {
            return;
        };
        if !connection.may_execute() {
            return;
        }
        let pending = connection.input.pending();
        if pending > 0 && !connection.marks.is_queued {
            self.queue(id);
        }
        // More is wanted when this is used up, or turns out to be a part of one request.
        if pending <= INPUT_SOFT {
            self.unpause(id);
        }
        self.close_if_over(id);
    }

    /// A connection from which the driver should read again.
    pub(crate) fn take_resumed(&mut self) -> Option<ConnectionId> {
        self.resumed.pop()
    }

    /// Notes that the connection has output to send, or replies that wait.
    #[inline]
    pub(crate) fn list(&mut self, id: ConnectionId) {
        self.recount(id);
        if let Some(connection) = self.connections.get_mut(id.0 as usize) {
            if !connection.marks.is_listed && !connection.output.ready().is_empty() {
                connection.marks.is_listed = true;
                self.listed.push_back(id);
            }
            if !connection.marks.is_waiting && connection.output.is_held() {
                connection.marks.is_waiting = true;
                self.waiting.push(id);
            }
        }
    }

    /// A connection with output to send.
    #[inline]
    pub(crate) fn take_listed(&mut self) -> Option<ConnectionId> {
        loop {
            let id = self.listed.pop_front()?;
            let connection = &mut self[id];
            assert!(connection.marks.is_listed, "{id:?} is not marked as listed");
            connection.marks.is_listed = false;
            if !connection.end.is_broken {
                return Some(id);
            }
        }
    }

    /// `len` bytes of the output were sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, id: ConnectionId, len: usize, now: Instant) {
        if let Some(connection) = self.get_mut(id) {
            connection.bytes_out += len as u64;
            if let Some(seat) = &mut connection.session.user {
                seat.on_sent(len, now);
            }
            connection.output.on_sent(len);
            if connection.input.pending() > 0 || connection.marks.is_paused {
                self.resume(id);
            }
            self.look_at_room(id);
            self.recount(id);
        }
    }

    /// Lets out every reply whose commit dependency is met, and lets those go on that waited for it.
    pub(crate) fn let_out(&mut self, log: &Log) {
        let mut at = 0;
        while let Some(&id) = self.waiting.get(at) {
            let connection = &mut self[id];
            assert!(
                connection.marks.is_waiting,
                "{id:?} is not marked as waiting"
            );
            connection.output.advance(log);
            if connection.output.is_held() {
                at += 1;
            } else {
                connection.marks.is_waiting = false;
                self.waiting.swap_remove(at);
            }
            self.list(id);
            self.resume(id);
        }
    }

    /// Whether a reply waits for the log that its client may still get.
    pub(crate) fn has_answerable(&self) -> bool {
        // Who waits for replicas, or asked for this very end, will not be answered.
        self.waiting.iter().any(|id| {
            let it = &self[*id];
            let is_endless = matches!(
                it.blocked,
                Some(Blocked::Wait { .. } | Blocked::Watch | Blocked::Control(_))
            );
            // The list is only tidied when the log moves on: not all on it still wait.
            // What came back for want of room was not executed, no more than what is in its input.
            let waits_for_room =
                it.returned.first().is_some() && it.returned.first() == it.output.first_hole();
            !is_endless && !waits_for_room && !it.end.is_broken && it.output.is_held()
        })
    }

    /// Those whose `WAIT` ends by now.
    pub(crate) fn due_waits(&self, now: Instant) -> Vec<Token> {
        let due = self
            .iter()
            .filter_map(|connection| match connection.blocked {
                Some(Blocked::Wait {
                    until: Some(until),
                    placeholder,
                }) if until <= now => Some(Token {
                    connection: connection.id,
                    client: connection.client,
                    placeholder,
                    part: 0,
                }),
                _ => None,
            });
        due.collect()
    }

    /// Closes those that were idle, or left replies unread, for too long or too many.
    pub(crate) fn close_idle(&mut self, settings: &Settings, now: Instant) {
        let timeout = Settings::load(&settings.timeout);
        let output_max = settings.output_max();
        let is_gone = |it: &&Connection| {
            let is_idle = timeout > 0
                && it.blocked.is_none()
                && now - it.last_active > Duration::from_secs(timeout);
            is_idle || it.output.len() > output_max
        };
        let closing: Vec<_> = self.iter().filter(is_gone).map(|it| it.id).collect();
        for id in closing {
            self.on_broken(id);
        }
    }

    /// A connection to close: nothing of its replies is left to be made. What its output still has goes with it.
    pub(crate) fn take_closed(&mut self, core: &Core) -> Option<ConnectionId> {
        let at = self.closing.iter().position(|id| {
            let it = &self[*id];
            it.end.is_broken || (!it.output.is_held() && it.output.ready().is_empty())
        })?;
        let id = self.closing.swap_remove(at);
        let mut closed = self.connections.remove(id.0 as usize);
        // It has not begun, and nobody would hear of it.
        self.begins_last.remove(&id);
        self.leave_all(Desk::of(core), id, closed.session.told.subscriptions.take());
        let tracking = closed.session.told.tracking.take();
        self.leave_trackers((id, closed.client), tracking);
        core.shared.directory.remove(closed.client);
        if closed.session.told.requests {
            self.forget_monitor(core, (id, closed.client));
        }
        assert!(closed.end.is_closing, "{id:?} is closed and was not to be");
        let marks = closed.marks;
        self.uncount(id);
        let mut returned = closed.returned;
        let stalled_at = returned.take_bricks().into_iter();
        self.orphaned
            .extend(stalled_at.map(|at| (at, closed.client)));
        if marks.is_roomy {
            self.roomy.retain(|roomy| *roomy != id);
        }
        core.shared.counters.clients.fetch_sub(1, Relaxed);
        core.stats()
            .clients
            .connected
            .set(self.connections.len() as u64);
        if marks.is_waiting {
            self.waiting.retain(|waiting| *waiting != id);
        }
        if marks.is_queued {
            self.queued.retain(|queued| *queued != id);
        }
        if marks.is_listed {
            self.listed.retain(|listed| *listed != id);
        }
        Some(id)
    }

    /// A client that is gone, and a brick at which it is stalled.
    pub(crate) fn take_orphaned(&mut self) -> Option<(Member, u64)> {
        self.orphaned.pop()
    }

    /// Whether the connection is told of changes of the map from now on.
    pub(crate) fn watch_map(&mut self, id: ConnectionId, is_on: bool) {
        let connection = &mut self[id];
        assert!(
            !is_on || connection.session.protocol == Protocol::Resp3,
            "RESP2 knows no messages that answer nothing"
        );
        let was_on = std::mem::replace(&mut connection.session.told.map, is_on);
        let watcher = (id, connection.client);
        if is_on && !was_on {
            self.map_watchers.push(watcher);
        } else if !is_on && was_on {
            self.map_watchers.retain(|it| *it != watcher);
        }
    }

    pub(crate) fn has_map_watchers(&self) -> bool {
        !self.map_watchers.is_empty()
    }

    /// Whoever wants to know of changes of the map is told this one, at once, whatever replies it waits for.
    pub(crate) fn tell_map_watchers(&mut self, message: &[u8]) {
        assert!(!message.is_empty(), "there is something to tell");
        let mut watchers = std::mem::take(&mut self.map_watchers);
        watchers.retain(|(id, client)| {
            let connection = self.get_mut(*id).filter(|it| {
                // It may have closed, gone back to RESP2, or begun anew with RESET.
                it.client == *client
                    && it.session.told.map
                    && it.session.protocol == Protocol::Resp3
            });
            let Some(connection) = connection else {
                return false;
            };
            // Whoever does not read is told of the next change; this one is but a hint.
            if connection.output.len() <= connection.reply_lengths.output_soft() {
                connection.output.push(message);
                self.list(*id);
            }
            true
        });
        self.map_watchers = watchers;
    }
}
