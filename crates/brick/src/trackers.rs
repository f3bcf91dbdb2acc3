//! Which clients of a brick keep copies of which keys: what `clients/trackers` keeps its books in.
//!
//! In:  clients and keys. Out: who is to be told of a key; which bricks have yet to hear to what clients listen.
//!
//! Invariant: `items` is the number of pairs of a key and a client.

use crate::accepted::ConnectionId;
use crate::request::Token;
use crate::tracking::Notice;
use brickyard_routing::Member;
use brickyard_types::{Instant, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a client that listens waits for bricks that do not confirm it.
pub(crate) const CONFIRMED_WITHIN: Duration = Duration::from_secs(1);

/// A client of this brick.
pub(crate) type Client = (ConnectionId, u64);

/// What a connection is told for another one: a key, or that all of them go.
#[derive(Debug)]
pub(crate) struct Redirected {
    /// For whom.
    pub(crate) tracker: ConnectionId,
    /// `CLIENT ID` of who is told.
    pub(crate) client: u64,
    pub(crate) key: Option<Vec<u8>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Trackers {
    /// Clients that track.
    pub(crate) clients: BTreeSet<Client>,
    pub(crate) keys: BTreeMap<(TableId, Vec<u8>), Vec<Client>>,
    /// Pairs of a key and a client in it.
    pub(crate) items: usize,
    /// Where the next key is looked for that makes room for another.
    pub(crate) evicted: (TableId, Vec<u8>),
    pub(crate) listeners: BTreeMap<Vec<u8>, BTreeSet<Client>>,
    pub(crate) round: Round,
    /// Clients that are answered when all bricks know to what they listen, or then.
    pub(crate) begun: Vec<(Token, Instant)>,
    /// Answers for the next turn.
    pub(crate) answers: Vec<(Member, Notice)>,
    pub(crate) redirected: Vec<Redirected>,
    /// Primaries as they were when the clients were told last.
    pub(crate) primaries: u64,
}

/// Bricks that are told to what clients listen.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) number: u64,
    /// Have not confirmed it.
    pub(crate) missing: BTreeSet<Member>,
    /// What they did before that was not heard of: clients are to forget everything once all have.
    pub(crate) forgets: bool,
}

impl Trackers {
    /// Whether nobody tracks anything.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Figures for INFO: clients, keys, pairs of a key and a client, prefixes.
    pub(crate) fn counts(&self) -> [u64; 4] {
        let all = [
            self.clients.len(),
            self.keys.len(),
            self.items,
            self.listeners.len(),
        ];
        all.map(|count| count as u64)
    }

    /// Whether a brick is to be answered, or a connection to be told something.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.answers.is_empty() || !self.redirected.is_empty()
    }

    /// Answers to bricks whose recalls have been told.
    pub(crate) fn take_answers(&mut self) -> Vec<(Member, Notice)> {
        std::mem::take(&mut self.answers)
    }

    /// What is for connections that are told in place of others.
    pub(crate) fn take_redirected(&mut self) -> Vec<Redirected> {
        std::mem::take(&mut self.redirected)
    }

    /// A brick is answered in the next turn.
    pub(crate) fn answer(&mut self, to: Member, notice: Notice) {
        assert!(
            !matches!(notice, Notice::Recall { .. }),
            "an answer that asks: {notice:?}"
        );
        self.answers.push((to, notice));
    }

    /// A client may have a copy of a key.
    pub(crate) fn add(&mut self, at: (TableId, Vec<u8>), client: Client) {
        let clients = self.keys.entry(at).or_default();
        if !clients.contains(&client) {
            clients.push(client);
            self.items += 1;
        }
    }

    /// Who may have a copy of a key: nobody any more.
    pub(crate) fn take(&mut self, at: &(TableId, Vec<u8>)) -> Vec<Client> {
        let clients = self.keys.remove(at).unwrap_or_default();
        assert!(self.items >= clients.len(), "{} items", self.items);
        self.items -= clients.len();
        clients
    }

    /// Nobody has a copy of anything.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.items = 0;
    }

    pub(crate) fn leave_listeners(&mut self, client: Client, prefixes: &BTreeSet<Vec<u8>>) {
        for prefix in prefixes {
            let listening = self.listeners.get_mut(prefix);
            let is_last = listening.is_some_and(|all| all.remove(&client) && all.is_empty());
            if is_last {
                self.listeners.remove(prefix);
            }
        }
    }

    /// All that anybody listens to.
    pub(crate) fn prefixes(&self) -> Vec<Vec<u8>> {
        self.listeners.keys().cloned().collect()
    }
}
