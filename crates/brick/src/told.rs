//! What a client is told that it did not ask for just then.
//!
//! Invariant: of a client that subscribes to nothing there is no list.

use crate::channels::Kind;
use crate::users::User;
use std::collections::BTreeSet;

/// Memory that a name takes beside its bytes, about: here, and in what the node's bricks share.
const NAME_BYTES: usize = 160;

fn bytes_of(name: &[u8]) -> usize {
    3 * name.len() + NAME_BYTES
}

/// What one client subscribes to.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    /// By [`Kind`].
    names: [BTreeSet<Vec<u8>>; 3],
    bytes: usize,
}

impl Subscriptions {
    /// Names of a kind.
    pub(crate) fn names(&self, kind: Kind) -> &BTreeSet<Vec<u8>> {
        &self.names[kind as usize]
    }

    /// As many as the client is told: sharded channels are counted by themselves.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Sharded => self.names(kind).len(),
            Kind::Channel | Kind::Pattern => {
                self.names(Kind::Channel).len() + self.names(Kind::Pattern).len()
            }
        }
    }

    /// Takes a name; whether it is new.
    pub(crate) fn add(&mut self, kind: Kind, name: &[u8]) -> bool {
        let is_new = self.names[kind as usize].insert(name.to_vec());
        if is_new {
            self.bytes += bytes_of(name);
        }
        is_new
    }

    /// Takes a name out; whether it was there.
    pub(crate) fn remove(&mut self, kind: Kind, name: &[u8]) -> bool {
        let was_there = self.names[kind as usize].remove(name);
        if was_there {
            assert!(
                self.bytes >= bytes_of(name),
                "{} bytes of names",
                self.bytes
            );
            self.bytes -= bytes_of(name);
        }
        assert!(
            !self.is_empty() || self.bytes == 0,
            "{} bytes of no name",
            self.bytes
        );
        was_there
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.iter().all(BTreeSet::is_empty)
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes
    }
}

/// Beginnings of keys.
#[derive(Debug, Default)]
pub(crate) struct Beginnings(pub(crate) BTreeSet<Vec<u8>>);

impl Beginnings {
    /// Bytes of memory, about.
    fn bytes(&self) -> usize {
        self.0.iter().map(|prefix| bytes_of(prefix)).sum()
    }
}

/// How a client is told of keys that it keeps copies of (`CLIENT TRACKING`).
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    /// `CLIENT ID` of the connection that is told in its place.
    pub(crate) redirect: Option<u64>,
    /// That connection is gone.
    pub(crate) is_broken: bool,
    /// Of all keys that begin so, whatever it reads; `None`: of those that it reads.
    pub(crate) listens_to: Option<Beginnings>,
    /// Only of those that it reads behind `CLIENT CACHING YES`.
    pub(crate) opts_in: bool,
    /// Not of those that it reads behind `CLIENT CACHING NO`.
    pub(crate) opts_out: bool,
    /// Not of what it changes itself.
    pub(crate) skips_own: bool,
    /// What `CLIENT CACHING` said, for the next command or transaction.
    pub(crate) caching: Option<bool>,
}

impl Tracking {
    /// Whether what it reads now is noted.
    pub(crate) fn notes_reads(&self) -> bool {
        match (&self.listens_to, self.opts_in, self.opts_out) {
            (Some(_), ..) => false,
            (None, true, _) => self.caching == Some(true),
            (None, false, true) => self.caching != Some(false),
            (None, false, false) => true,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Changes of the map (`CLUSTER WATCH`).
    pub(crate) map: bool,
    /// What clients of the node ask for (`MONITOR`).
    pub(crate) requests: bool,
    /// What it subscribes to; `None`: to nothing.
    pub(crate) subscriptions: Option<Box<Subscriptions>>,
    /// How it tracks keys; `None`: it does not.
    pub(crate) tracking: Option<Box<Tracking>>,
}

impl Told {
    /// Whether a user may hear all of it.
    pub(crate) fn may_hear(&self, user: &User) -> bool {
        let acl = &user.acl;
        if self.requests && !user.administers_node() {
            return false;
        }
        let Some(subscriptions) = &self.subscriptions else {
            return true;
        };
        Kind::ALL.into_iter().all(|kind| {
            let mut names = subscriptions.names(kind).iter();
            names.all(|name| acl.has_channel(name, kind == Kind::Pattern))
        })
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        let names = self
            .subscriptions
            .as_ref()
            .map_or(0, |it| it.memory_bytes());
        let prefixes = self.tracking.as_ref().and_then(|it| it.listens_to.as_ref());
        names + prefixes.map_or(0, Beginnings::bytes)
    }

    /// How many names of a kind it subscribes to, as it is told.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.subscriptions.as_ref().map_or(0, |it| it.count(kind))
    }
}
