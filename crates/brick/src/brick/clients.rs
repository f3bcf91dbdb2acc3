//! The brick's clients, as its driver sees them: connections that come and go, bytes in and out, who must wait.
//!
//! Invariant: a connection is executed while it may, and is read while it can be executed or its input is short.

use super::{Brick, CONNECTIONS_MAX};
use crate::connection::{Blocked, Connection, ConnectionId, INPUT_SOFT};
use crate::effect::Accepted;
use crate::settings::Settings;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Brick {
    /// Takes a new connection.
    ///
    /// # Errors
    /// The bytes to send before it is closed: there are too many connections.
    pub fn accept(&mut self, accepted: Accepted) -> Result<ConnectionId, Vec<u8>> {
        let shared = Arc::clone(&self.core.shared);
        let clients = shared.clients.fetch_add(1, Relaxed);
        let max = Settings::load(&shared.settings.maxclients);
        if clients >= max || self.connections.len() >= CONNECTIONS_MAX || self.is_stopping {
            shared.clients.fetch_sub(1, Relaxed);
            self.core.stats().connections_refused.add(1);
            return Err(b"-ERR max number of clients reached\r\n".to_vec());
        }
        let entry = self.connections.vacant_entry();
        let id = ConnectionId(entry.key() as u32);
        let table = self.core.table_by_name.get("default").copied().unwrap_or(0);
        let (now, unix) = (self.core.now, self.core.unix);
        let mut connection = Connection::new(id, accepted, &shared, table, now, unix);
        if let Some(user) = connection.session.user.clone() {
            crate::session::enter_user(&self.core, &mut connection, user);
        }
        entry.insert(connection);
        let stats = self.core.stats();
        stats.connections.add(1);
        stats.clients.set(self.connections.len() as u64);
        Ok(id)
    }

    /// The buffer to which the driver appends what the client sent; call [`Self::on_received`]
    /// after that.
    ///
    /// # Panics
    /// If there is no such connection (a caller bug).
    #[inline]
    pub fn input(&mut self, id: ConnectionId) -> &mut Vec<u8> {
        &mut self.connections[id.0 as usize].input
    }

    /// Whether the driver should read from the connection. When not, [`Self::poll_resumed`] says
    /// when to go on: that is how a client feels that it sends faster than it is served.
    #[must_use]
    pub fn wants_input(&self, id: ConnectionId) -> bool {
        self.connections
            .get(id.0 as usize)
            .is_some_and(|connection| !connection.is_paused)
    }

    /// The input has grown.
    #[inline]
    pub fn on_received(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id.0 as usize) {
            connection.last_active = self.core.now;
            if connection.may_execute() && !connection.is_queued {
                connection.is_queued = true;
                self.queued.push_back(id);
            } else {
                // It waits, or it sends faster than it is served.
                self.pause(id);
            }
        }
    }

    /// The client will send no more. What it has sent is executed, then the connection is closed.
    pub fn on_end_of_stream(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id.0 as usize) else {
            return;
        };
        connection.is_ended = true;
        if matches!(connection.blocked, Some(Blocked::Wait { .. })) {
            // It might wait for ever, and for what it will not read.
            self.on_error(id);
        } else {
            self.close_if_over(id);
        }
    }

    /// Closes the connection if its client has ended it and nothing is left to execute.
    pub(crate) fn close_if_over(&mut self, id: ConnectionId) {
        let is_over = self
            .connections
            .get(id.0 as usize)
            .is_some_and(|it| it.is_ended && !it.is_queued && it.may_execute());
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

    /// The connection broke: replies can no longer be delivered.
    pub fn on_error(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id.0 as usize) {
            connection.is_broken = true;
            self.close(id);
        }
    }

    /// Executes nothing more for the connection and closes it when its replies are sent.
    pub(crate) fn close(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id.0 as usize)
            && (!connection.is_closing || connection.is_broken)
        {
            connection.is_closing = true;
            if !self.closing.contains(&id) {
                self.closing.push(id);
            }
        }
    }

    /// Tells the driver to stop reading from a connection that must wait.
    pub(crate) fn pause(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id.0 as usize)
            && !connection.is_paused
            && connection.pending_input() > INPUT_SOFT
        {
            connection.is_paused = true;
        }
    }

    /// Notes that the connection has output to send.
    #[inline]
    pub(crate) fn list(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id.0 as usize) {
            if !connection.is_listed && !connection.output.ready().is_empty() {
                connection.is_listed = true;
                self.listed.push_back(id);
            }
            if !connection.is_waiting && connection.output.is_held() {
                connection.is_waiting = true;
                self.waiting.push(id);
            }
        }
    }

    /// A connection with output to send.
    #[inline]
    pub fn poll_output(&mut self) -> Option<ConnectionId> {
        loop {
            let id = self.listed.pop_front()?;
            if let Some(connection) = self.connections.get_mut(id.0 as usize) {
                connection.is_listed = false;
                if !connection.is_broken {
                    return Some(id);
                }
            }
        }
    }

    /// What may be sent to the client now.
    #[inline]
    #[must_use]
    pub fn output(&self, id: ConnectionId) -> &[u8] {
        self.connections
            .get(id.0 as usize)
            .map_or(&[], |connection| connection.output.ready())
    }

    /// `len` bytes of the output were sent.
    #[inline]
    pub fn on_sent(&mut self, id: ConnectionId, len: usize) {
        let stats_out = len as u64;
        if let Some(connection) = self.connections.get_mut(id.0 as usize) {
            connection.bytes_out += stats_out;
            connection.output.on_sent(len);
            if connection.pending_input() > 0 || connection.is_paused {
                self.resume(id);
            }
        }
        self.core.stats().bytes_out.add(stats_out);
    }

    /// Lets a connection go on that may have been waiting for something.
    pub(crate) fn resume(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id.0 as usize) else {
            return;
        };
        if !connection.may_execute() {
            return;
        }
        if connection.pending_input() > 0 && !connection.is_queued {
            connection.is_queued = true;
            self.queued.push_back(id);
        }
        // More is wanted when this is used up, or turns out to be a part of one request.
        let wants_more = connection.pending_input() <= INPUT_SOFT;
        if wants_more {
            self.unpause(id);
        }
        self.close_if_over(id);
    }

    /// Tells the driver to go on reading.
    pub(crate) fn unpause(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id.0 as usize)
            && connection.is_paused
        {
            connection.is_paused = false;
            self.resumed.push(id);
        }
    }

    /// A connection from which the driver should read again.
    pub fn poll_resumed(&mut self) -> Option<ConnectionId> {
        self.resumed.pop()
    }

    /// A connection to close, after what [`Self::output`] still has was sent as far as the socket
    /// takes it. Its id may be given out again at once.
    pub fn poll_closed(&mut self) -> Option<ConnectionId> {
        let at = self.closing.iter().position(|id| {
            self.connections
                .get(id.0 as usize)
                .is_none_or(|connection| {
                    connection.is_broken
                        || (!connection.output.is_held() && connection.output.ready().is_empty())
                })
        })?;
        let id = self.closing.swap_remove(at);
        if !self.connections.contains(id.0 as usize) {
            return None;
        }
        self.connections.remove(id.0 as usize);
        self.core.shared.clients.fetch_sub(1, Relaxed);
        self.core.stats().clients.set(self.connections.len() as u64);
        self.waiting.retain(|waiting| *waiting != id);
        self.queued.retain(|queued| *queued != id);
        self.listed.retain(|listed| *listed != id);
        self.end_export(id);
        Some(id)
    }
}
