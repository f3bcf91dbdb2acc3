//! Clients of any brick that wait for a change of what this brick leads.
//!
//! In:  who was told nothing, and up to which ops; where something has committed. Out: who is to be told to ask again, once.
//!
//! A brick notes who waits in the step in which it has told nothing, so that no commit lies between. It forgets who was woken, who has
//! asked anew, and after [`KEPT_FOR`] anybody: whoever still waits asks again before.
//!
//! Invariant: a client waits at a brick once, however often it asks.

use super::ring::{Change, ChangeRing};
use brickyard_command::request::Watched;
use brickyard_routing::Member;
use brickyard_types::record::Kind;
use brickyard_types::{Instant, Op, PartitionId, TableId};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long somebody waits at a brick without asking anew.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// Whose changes somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    All,
    Prefix(Vec<u8>),
    Key(Vec<u8>),
}

impl Pattern {
    pub(crate) fn of(watched: Watched<'_>) -> Self {
        match watched {
            Watched::All => Self::All,
            Watched::Prefix(prefix) => Self::Prefix(prefix.to_vec()),
            Watched::Key(key) => Self::Key(key.to_vec()),
        }
    }

    pub(crate) fn watched(&self) -> Watched<'_> {
        match self {
            Self::All => Watched::All,
            Self::Prefix(prefix) => Watched::Prefix(prefix),
            Self::Key(key) => Watched::Key(key),
        }
    }
}

/// Somebody who waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) table: TableId,
    pub(crate) pattern: Pattern,
    /// Names the wait among those of the client.
    pub(crate) round: u64,
    /// Up to where each partition has nothing for it.
    pub(crate) seen: BTreeMap<PartitionId, Op>,
    pub(crate) since: Instant,
}

/// A partition in which something has committed: its table's id, its own, and what it keeps.
type Changed<'a> = (TableId, PartitionId, Option<&'a ChangeRing>);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Waiters(BTreeMap<(Member, u64), Waiter>);

impl Waiters {
    /// Whether nobody waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A client of that brick waits.
    pub(crate) fn add(&mut self, (member, client): (Member, u64), waiter: Waiter) {
        assert!(client > 0, "a client that is none waits for {waiter:?}");
        self.0.insert((member, client), waiter);
    }

    /// A client of that brick asks anew, or does not wait any more.
    pub(crate) fn forget(&mut self, (member, client): (Member, u64)) {
        self.0.remove(&(member, client));
    }

    /// Forgets those who will have asked elsewhere.
    pub(crate) fn forget_old(&mut self, now: Instant) {
        self.0.retain(|_, it| now - it.since < KEPT_FOR);
    }

    /// Something has committed in these partitions: those for whom there is something to read are forgotten and returned, each with
    /// what names its wait.
    pub(crate) fn wake(&mut self, changed: &[Changed<'_>]) -> Vec<((Member, u64), u64)> {
        let mut woken = Vec::new();
        self.0.retain(|who, waiter| {
            let is_woken = waiter.has_any(changed);
            if is_woken {
                woken.push((*who, waiter.round));
            }
            !is_woken
        });
        woken
    }
}

impl Waiter {
    fn has_any(&mut self, changed: &[Changed<'_>]) -> bool {
        let own = changed.iter().filter(|(table, ..)| *table == self.table);
        for (_, partition, ring) in own {
            // One that has come since is read from wherever its follower is.
            let Some(seen) = self.seen.get_mut(partition) else {
                return true;
            };
            if let Some(ring) = ring {
                if has_any(ring, *seen, self.pattern.watched()) {
                    return true;
                }
                *seen = ring.upto;
            }
        }
        false
    }
}

fn has_any(ring: &ChangeRing, seen: Op, watched: Watched<'_>) -> bool {
    let is_one = |it: &Change| it.kind == Kind::Clear || watched.has(it.key());
    seen < ring.after || ring.changes_after(seen).any(is_one)
}
