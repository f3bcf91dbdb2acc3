//! Clients that subscribe to channels.
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
use std::collections::BTreeMap;

/// Bytes that a client that subscribes may leave unread, as in Redis.
const UNREAD_MAX: usize = 32 << 20;

/// The brick's clients by what they subscribe to.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    /// By [`Kind`].
    by_name: [BTreeMap<Vec<u8>, Vec<ConnectionId>>; 3],
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
        let subscribers = subscribers.entry(name.to_vec()).or_default();
        assert!(
            !subscribers.contains(&id),
            "{id:?} subscribes to it already"
        );
        subscribers.push(id);
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
        let before = subscribers.len();
        subscribers.retain(|subscriber| *subscriber != id);
        assert_eq!(
            subscribers.len() + 1,
            before,
            "{id:?} subscribed to it once"
        );
        if subscribers.is_empty() {
            names.remove(name);
        }
        desk.node.remove(kind, name, desk.brick);
    }

    /// Whoever of this brick subscribes gets the message.
    pub(crate) fn deliver(&mut self, published: &Published, settings: &Settings) {
        let mut receivers = Vec::new();
        let kind = published.kind();
        let subscribers = self.subscribers.by_name[kind as usize].get(&published.channel);
        receivers.extend(subscribers.into_iter().flatten().map(|id| (*id, None)));
        if !published.is_sharded {
            let patterns = self.subscribers.by_name[Kind::Pattern as usize].iter();
            for (pattern, subscribers) in
                patterns.filter(|(it, _)| glob::matches(it, &published.channel, false))
            {
                receivers.extend(subscribers.iter().map(|id| (*id, Some(pattern.clone()))));
            }
        }
        let unread_max = settings.output_max().min(UNREAD_MAX);
        for (id, pattern) in receivers {
            let connection = &self[id];
            if connection.end.is_broken {
                continue;
            }
            if connection.output.len() + published.bytes() > unread_max {
                self.on_broken(id);
                continue;
            }
            self.push(id, |push| {
                push.push(if pattern.is_some() { 4 } else { 3 });
                match &pattern {
                    Some(pattern) => {
                        push.bulk(b"pmessage");
                        push.bulk(pattern);
                    }
                    None if published.is_sharded => push.bulk(b"smessage"),
                    None => push.bulk(b"message"),
                }
                push.bulk(&published.channel);
                push.bulk(&published.message);
            });
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

impl Connection {
    /// Whether it speaks RESP2 and subscribes, so that only what is about that makes sense to its client.
    #[inline]
    pub(crate) fn only_subscribes(&self) -> bool {
        self.session.told.subscriptions.is_some() && self.session.protocol == Protocol::Resp2
    }
}
