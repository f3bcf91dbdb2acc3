//! Clients that listen to channels.
//!
//! In:  names to listen to, messages. Out: messages in the outputs of those who listen.
//!
//! Invariants:
//! - A client is among a name's listeners exactly if the name is among the client's.
//! - Whoever does not read is closed before it holds more than [`UNREAD_MAX`], or what a client may leave unread at all.

use super::Clients;
use crate::accepted::ConnectionId;
use crate::channels::{Kind, NodeChannels, Published};
use crate::connection::Connection;
use crate::core::Core;
use crate::output::CommitDependency;
use crate::settings::Settings;
use crate::told::Listening;
use brickyard_command::glob;
use brickyard_types::BrickId;
use brickyard_wire::{Protocol, Reply};
use std::collections::BTreeMap;

/// Bytes that a client that listens may leave unread, as in Redis.
const UNREAD_MAX: usize = 32 << 20;

/// The brick's clients by what they listen to.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// By [`Kind`].
    by_name: [BTreeMap<Vec<u8>, Vec<ConnectionId>>; 3],
}

/// Where a brick's listeners are made known.
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
    /// The client listens to a name from now on.
    pub(crate) fn listen(&mut self, desk: Desk<'_>, id: ConnectionId, kind: Kind, name: &[u8]) {
        let told = &mut self[id].session.told;
        if !told.listening.get_or_insert_default().add(kind, name) {
            return;
        }
        let listeners = &mut self.listeners.by_name[kind as usize];
        let listeners = listeners.entry(name.to_vec()).or_default();
        assert!(!listeners.contains(&id), "{id:?} listens to it already");
        listeners.push(id);
        desk.node.add(kind, name, desk.brick);
        self.recount(id);
    }

    /// It listens to it no more; whether it did.
    pub(crate) fn listen_no_more(
        &mut self,
        desk: Desk<'_>,
        id: ConnectionId,
        kind: Kind,
        name: &[u8],
    ) -> bool {
        let told = &mut self[id].session.told;
        let Some(listening) = &mut told.listening else {
            return false;
        };
        if !listening.remove(kind, name) {
            return false;
        }
        if listening.is_empty() {
            told.listening = None;
        }
        self.leave(desk, id, kind, name);
        self.recount(id);
        true
    }

    /// It listens to nothing any more.
    pub(crate) fn listen_to_nothing(&mut self, desk: Desk<'_>, id: ConnectionId) {
        let listening = self[id].session.told.listening.take();
        self.leave_all(desk, id, listening);
    }

    /// A client that is gone, or listens to nothing any more, is taken from where it listened.
    pub(super) fn leave_all(
        &mut self,
        desk: Desk<'_>,
        id: ConnectionId,
        listening: Option<Box<Listening>>,
    ) {
        let Some(listening) = listening else {
            return;
        };
        for kind in Kind::ALL {
            for name in listening.names(kind) {
                self.leave(desk, id, kind, name);
            }
        }
    }

    fn leave(&mut self, desk: Desk<'_>, id: ConnectionId, kind: Kind, name: &[u8]) {
        let names = &mut self.listeners.by_name[kind as usize];
        let listeners = names.get_mut(name).expect("the client listened to it");
        let before = listeners.len();
        listeners.retain(|listener| *listener != id);
        assert_eq!(listeners.len() + 1, before, "{id:?} listened to it once");
        if listeners.is_empty() {
            names.remove(name);
        }
        desk.node.remove(kind, name, desk.brick);
    }

    /// Whoever of this brick listens gets the message.
    pub(crate) fn deliver(&mut self, published: &Published, settings: &Settings) {
        let mut receivers = Vec::new();
        let kind = published.kind();
        let listeners = self.listeners.by_name[kind as usize].get(&published.channel);
        receivers.extend(listeners.into_iter().flatten().map(|id| (*id, None)));
        if !published.is_sharded {
            let patterns = self.listeners.by_name[Kind::Pattern as usize].iter();
            for (pattern, listeners) in
                patterns.filter(|(it, _)| glob::matches(it, &published.channel, false))
            {
                receivers.extend(listeners.iter().map(|id| (*id, Some(pattern.clone()))));
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
    /// Whether it speaks RESP2 and listens, so that only what is about that makes sense to its client.
    #[inline]
    pub(crate) fn only_listens(&self) -> bool {
        self.session.told.listening.is_some() && self.session.protocol == Protocol::Resp2
    }
}
