//! Clients that subscribe to channels, or watch what others ask for.
//!
//! In:  names to subscribe to, messages. Out: messages in the outputs of those who subscribe.
//!
//! Invariants:
//! - A client is among a name's subscribers exactly if the name is among the client's.
//! - Whoever does not read is closed before it holds more than [`UNREAD_MAX`], or what a client may leave unread at all.

use super::Clients;
use crate::accepted::ConnectionId;
use crate::channels::{Kind, NodeChannels, Published};
use crate::connection::Connection;
use crate::core::Core;
use crate::output::CommitDependency;
use crate::settings::Settings;
use crate::told::Subscriptions;
use brickyard_command::glob;
use brickyard_types::BrickId;
use brickyard_wire::{Protocol, Reply};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that a client that subscribes may leave unread, as in Redis.
pub(super) const UNREAD_MAX: usize = 32 << 20;

/// The brick's clients by what they subscribe to.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    /// By [`Kind`].
    by_name: [BTreeMap<Vec<u8>, BTreeSet<ConnectionId>>; 3],
    /// Told of what others ask for (`MONITOR`), with the client that asked.
    monitors: Vec<(ConnectionId, u64)>,
}

/// Where a brick's subscribers are made known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Desk<'a> {
    pub(crate) node: &'a NodeChannels,
    pub(crate) brick: BrickId,
}

impl<'a> Desk<'a> {
    pub(crate) fn of(core: &'a Core) -> Self {
        Self {
            node: &core.shared.channels,
            brick: core.id,
        }
    }
}

impl Clients {
    /// The client subscribes to a name from now on.
    pub(crate) fn subscribe(&mut self, desk: Desk<'_>, id: ConnectionId, kind: Kind, name: &[u8]) {
        let told = &mut self[id].session.told;
        if !told.subscriptions.get_or_insert_default().add(kind, name) {
            return;
        }
        let subscribers = &mut self.subscribers.by_name[kind as usize];
        let is_new = subscribers.entry(name.to_vec()).or_default().insert(id);
        assert!(is_new, "{id:?} subscribes to it already");
        desk.node.add(kind, name, desk.brick);
        self.recount(id);
    }

    /// It subscribes to it no more; whether it did.
    pub(crate) fn unsubscribe(
        &mut self,
        desk: Desk<'_>,
        id: ConnectionId,
        kind: Kind,
        name: &[u8],
    ) -> bool {
        let told = &mut self[id].session.told;
        let Some(subscriptions) = &mut told.subscriptions else {
            return false;
        };
        if !subscriptions.remove(kind, name) {
            return false;
        }
        if subscriptions.is_empty() {
            told.subscriptions = None;
        }
        self.leave(desk, id, kind, name);
        self.recount(id);
        true
    }

    /// It subscribes to nothing any more.
    pub(crate) fn unsubscribe_all(&mut self, desk: Desk<'_>, id: ConnectionId) {
        let subscriptions = self[id].session.told.subscriptions.take();
        self.leave_all(desk, id, subscriptions);
    }

    /// A client that is gone, or subscribes to nothing any more, is taken from where it subscribed.
    pub(super) fn leave_all(
        &mut self,
        desk: Desk<'_>,
        id: ConnectionId,
        subscriptions: Option<Box<Subscriptions>>,
    ) {
        let Some(subscriptions) = subscriptions else {
            return;
        };
        for kind in Kind::ALL {
            for name in subscriptions.names(kind) {
                self.leave(desk, id, kind, name);
            }
        }
    }

    fn leave(&mut self, desk: Desk<'_>, id: ConnectionId, kind: Kind, name: &[u8]) {
        let names = &mut self.subscribers.by_name[kind as usize];
        let subscribers = names.get_mut(name).expect("the client subscribed to it");
        let was_there = subscribers.remove(&id);
        assert!(was_there, "{id:?} is not among its subscribers");
        if subscribers.is_empty() {
            names.remove(name);
        }
        desk.node.remove(kind, name, desk.brick);
    }

    /// Whoever of this brick subscribes gets the message.
    pub(crate) fn deliver(&mut self, published: &Published, settings: &Settings) {
        let by_name = &self.subscribers.by_name;
        let members = |(name, ids): (&Vec<u8>, &BTreeSet<ConnectionId>)| {
            (name.clone(), ids.iter().copied().collect::<Vec<_>>())
        };
        let channel = by_name[published.kind() as usize].get_key_value(&published.channel);
        let channel = channel.map(members);
        let patterns = by_name[Kind::Pattern as usize].iter();
        let patterns = patterns.filter(|(it, _)| {
            !published.is_sharded && glob::matches(it, &published.channel, false)
        });
        let patterns: Vec<_> = patterns.map(members).collect();
        if let Some((_, ids)) = channel {
            self.deliver_to(&ids, published, None, settings);
        }
        for (pattern, ids) in patterns {
            self.deliver_to(&ids, published, Some(&pattern), settings);
        }
    }

    fn deliver_to(
        &mut self,
        ids: &[ConnectionId],
        published: &Published,
        pattern: Option<&[u8]>,
        settings: &Settings,
    ) {
        let unread_max = settings.output_max().min(UNREAD_MAX);
        // Rendered once for all that speak alike.
        let mut rendered = [const { Vec::new() }; 2];
        for id in ids {
            let connection = &mut self[*id];
            if connection.end.is_broken {
                continue;
            }
            let protocol = connection.session.protocol;
            let bytes: &mut Vec<u8> = &mut rendered[usize::from(protocol == Protocol::Resp3)];
            if bytes.is_empty() {
                render(published, pattern, &mut Reply::new(bytes, protocol));
            }
            if connection.output.len() + bytes.len() > unread_max {
                self.on_broken(*id);
                continue;
            }
            let out = connection.output.begin();
            let start = out.len();
            out.extend_from_slice(bytes);
            connection.output.end(start, CommitDependency::NONE);
            self.list(*id);
        }
    }

    /// The client watches from now on, or no more.
    pub(crate) fn monitor(&mut self, core: &Core, id: ConnectionId, is_on: bool) {
        let connection = &mut self[id];
        let watcher = (id, connection.client);
        let was_on = std::mem::replace(&mut connection.session.told.requests, is_on);
        if is_on && !was_on {
            core.shared.oversight.monitors.add(core.id);
            self.subscribers.monitors.push(watcher);
        } else if !is_on && was_on {
            self.forget_monitor(core, watcher);
        }
    }

    pub(super) fn forget_monitor(&mut self, core: &Core, watcher: (ConnectionId, u64)) {
        let at = self
            .subscribers
            .monitors
            .iter()
            .position(|it| *it == watcher);
        self.subscribers
            .monitors
            .swap_remove(at.expect("it watched"));
        core.shared.oversight.monitors.remove(core.id);
    }

    /// Whoever watches gets these lines.
    pub(crate) fn deliver_lines(&mut self, lines: &[u8], settings: &Settings) {
        let unread_max = settings.output_max().min(UNREAD_MAX);
        for at in 0..self.subscribers.monitors.len() {
            let (id, client) = self.subscribers.monitors[at];
            let connection = &mut self[id];
            assert_eq!(connection.client, client, "a client that is gone watches");
            if connection.end.is_broken {
                continue;
            }
            if connection.output.len() + lines.len() > unread_max {
                self.on_broken(id);
                continue;
            }
            let out = connection.output.begin();
            let start = out.len();
            out.extend_from_slice(lines);
            connection.output.end(start, CommitDependency::NONE);
            self.list(id);
        }
    }

    /// Writes what is no reply behind the replies that are there, whether the client wants those or not.
    pub(crate) fn push(&mut self, id: ConnectionId, write: impl FnOnce(&mut Reply<'_>)) {
        let connection = &mut self[id];
        let protocol = connection.session.protocol;
        let out = connection.output.begin();
        let start = out.len();
        write(&mut Reply::new(out, protocol));
        connection.output.end(start, CommitDependency::NONE);
    }
}

/// A message as a subscriber gets it, by a pattern if there is one.
fn render(published: &Published, pattern: Option<&[u8]>, push: &mut Reply<'_>) {
    push.push(if pattern.is_some() { 4 } else { 3 });
    match pattern {
        Some(pattern) => {
            push.bulk(b"pmessage");
            push.bulk(pattern);
        }
        None if published.is_sharded => push.bulk(b"smessage"),
        None => push.bulk(b"message"),
    }
    push.bulk(&published.channel);
    push.bulk(&published.message);
}

impl Connection {
    /// Whether it speaks RESP2 and subscribes, so that only what is about that makes sense to its client.
    #[inline]
    pub(crate) fn only_subscribes(&self) -> bool {
        self.session.told.subscriptions.is_some() && self.session.protocol == Protocol::Resp2
    }
}
