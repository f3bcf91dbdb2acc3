//! Copies of keys that clients keep (`CLIENT TRACKING`): which bricks have clients with copies, and what they are told before a key changes.
//!
//! In:  reads of keys by clients that track what they read; prefixes that clients listen to; writes. Out: *recalls* for the bricks that have those
//!      clients' connections; whether a write may go on.
//!
//! ```text
//!  a client's brick                                     the key's primary
//!    read, tracked ──────────────────────────────────►  the brick holds a copy
//!    ◄────────────────────────────────────────── recall ── a write comes: it waits
//!    clients are told, then ── recalled ──────────────►  no copy is held: the write runs
//! ```
//! So whoever keeps a copy has been told of a change before anybody can see it. A brick that does not answer, or to which the stream is
//! broken, holds up a write for [`PATIENCE`] at most; it is told to have its clients forget everything as soon as it can be reached again.
//!
//! Invariants (rule `copies are recalled before a write`):
//! - Of a key that a brick's clients may have copies of, that brick is a holder here, or a listener to a prefix of it, or is owed a [`Notice::RecallAll`].
//! - A brick that comes to lead a partition writes no key before all bricks with copies have forgotten theirs, or have not answered.
//! - A key that is recalled gets no new holder until it was written, or a while has passed: who reads it meanwhile is told at once not to keep it.
//! - No brick becomes a holder while it is owed a [`Notice::RecallAll`]: it holds nothing once it has answered that, and a late answer is taken for no
//!   other recall's.
//!
//! The files: this one what the primary's brick knows; `clients/trackers` what the clients' brick knows; `session/tracking` the commands.
//! It is kept in memory: with another primary of any partition clients forget everything, before that one writes.

use crate::leases::Leases;
use brickyard_routing::Member;
use brickyard_types::{Instant, TableId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

/// How long a write waits for bricks to which it has sent recalls.
const PATIENCE: Duration = Duration::from_millis(500);

/// How soon a brick that has not answered is told again to have its clients forget everything. A notice waits for a stream no longer than this.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a key that was recalled gets no new holders if nobody writes it after all.
const FREE_FOR: Duration = Duration::from_millis(100);

/// Most prefixes that a peer is believed.
const PREFIXES_MAX: usize = 100_000;

/// What bricks tell one another of copies, and of changes that somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// Nobody may keep a copy of the key any more. Who has asked for that is known by [`crate::log::Writer`]'s number.
    Recall {
        table: TableId,
        key: Vec<u8>,
        writer: u64,
        /// A write waits for the answer.
        is_awaited: bool,
    },
    /// Those who had one were told.
    Recalled { table: TableId, key: Vec<u8> },
    /// Nobody may keep a copy of anything, or rely on what it listens to.
    RecallAll,
    /// Those who had any were told.
    RecalledAll,
    /// Whether clients of the brick keep copies at all, and of which prefixes they want to hear, whatever they have read.
    Listen {
        round: u64,
        is_tracking: bool,
        prefixes: Vec<Vec<u8>>,
    },
    /// That is known here.
    Listening { round: u64 },
    /// There is a change that a client of the brick has waited for, in that round of its.
    Changed { client: u64, round: u64 },
}

impl Notice {
    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let held = match self {
            Self::Recall { key, .. } | Self::Recalled { key, .. } => key.len(),
            Self::Listen { prefixes, .. } => prefixes.iter().map(|it| it.len() + 24).sum(),
            Self::RecallAll | Self::RecalledAll | Self::Listening { .. } | Self::Changed { .. } => {
                0
            }
        };
        size_of::<Self>() + held
    }

    /// Whether it keeps the bounds of what clients can ask for.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::Listen { prefixes, .. } => prefixes.len() <= PREFIXES_MAX,
            _ => true,
        }
    }
}

/// A key of a table.
type At = (TableId, Vec<u8>);

/// A key of which nobody holds a copy, once these have answered: a write is coming.
#[derive(Debug)]
struct Recalled {
    /// [`crate::log::Writer`]'s number of who asked for it.
    writer: u64,
    waits_for: BTreeSet<Member>,
    since: Instant,
}

/// What is to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) to: Member,
    pub(crate) notice: Notice,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Holders {
    own: Member,
    held: BTreeMap<At, Vec<Member>>,
    recalled: BTreeMap<At, Recalled>,
    /// Where the next key is looked for that makes room for another.
    evicted: At,
    /// Bricks with clients that keep copies, and the prefixes that those listen to.
    listeners: BTreeMap<Member, Vec<Vec<u8>>>,
    /// Partitions that this brick leads, as one number.
    led: u64,
    /// This brick leads a partition anew and knows nothing of copies of its keys: these have yet to forget theirs.
    forgetting: BTreeMap<Member, Instant>,
    /// The stream to these is broken, and what was on it lost: no key is written that they hold before they have forgotten everything.
    broken: BTreeMap<Member, Instant>,
    /// These have yet to say that their clients have forgotten everything; and when they were told to, last.
    owed: BTreeMap<Member, Instant>,
    outgoing: Vec<Outgoing>,
    /// What clients of this brick may keep without being told.
    pub(crate) leases: Leases,
}

impl Holders {
    pub(crate) fn new(own: Member) -> Self {
        Self {
            own,
            held: BTreeMap::new(),
            recalled: BTreeMap::new(),
            evicted: (TableId(0), Vec::new()),
            listeners: BTreeMap::new(),
            led: 0,
            forgetting: BTreeMap::new(),
            broken: BTreeMap::new(),
            owed: BTreeMap::new(),
            outgoing: Vec::new(),
            leases: Leases::default(),
        }
    }

    /// Whether no write has anything to look for here.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.listeners.is_empty() && self.recalled.is_empty()
    }

    /// Whether somebody is to be told something.
    #[inline]
    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether somebody has yet to answer, or something to end by itself.
    pub(crate) fn is_unsettled(&self) -> bool {
        !self.recalled.is_empty()
            || !self.owed.is_empty()
            || !self.forgetting.is_empty()
            || !self.broken.is_empty()
    }

    /// What is to be sent, in order; what is for this brick itself among it.
    pub(crate) fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    fn send(&mut self, to: Member, notice: Notice) {
        self.outgoing.push(Outgoing { to, notice });
    }

    fn send_recall(&mut self, to: Member, at: &At, (writer, is_awaited): (u64, bool)) {
        let (table, key) = (at.0, at.1.clone());
        self.send(
            to,
            Notice::Recall {
                table,
                key,
                writer,
                is_awaited,
            },
        );
    }

    /// A client of that brick has read the key and may keep a copy.
    pub(crate) fn note_read(&mut self, table: TableId, key: &[u8], holder: Member, keys_max: u64) {
        let at = (table, key.to_vec());
        // A write is before it, whose client must not wait for readers without end.
        if self.recalled.contains_key(&at) || self.owed.contains_key(&holder) {
            return self.send_recall(holder, &at, (0, false));
        }
        if let Some(holders) = self.held.get_mut(&at) {
            if !holders.contains(&holder) {
                holders.push(holder);
            }
            return;
        }
        while self.held.len() as u64 >= keys_max.max(1) {
            self.evict();
        }
        self.held.insert(at, vec![holder]);
        assert!(
            self.held.len() as u64 <= keys_max.max(1),
            "{} keys are held",
            self.held.len()
        );
    }

    /// One key makes room for others: its copies are recalled.
    fn evict(&mut self) {
        let after = (Bound::Excluded(self.evicted.clone()), Bound::Unbounded);
        let next = self.held.range(after).next();
        if let Some((at, _)) = next.or_else(|| self.held.first_key_value()) {
            self.evicted = at.clone();
            self.let_go(&self.evicted.clone());
        }
    }

    fn let_go(&mut self, at: &At) {
        for holder in self.held.remove(at).unwrap_or_default() {
            self.send_recall(holder, at, (0, false));
        }
    }

    fn listening_to(&self, key: &[u8]) -> impl Iterator<Item = Member> {
        let all = self.listeners.iter();
        let listening = all.filter(|(_, prefixes)| prefixes.iter().any(|it| key.starts_with(it)));
        listening.map(|(member, _)| *member)
    }

    /// A write of the key comes: whether it may go on. If not, copies are being recalled, and it may be tried again when that is done.
    pub(crate) fn recall(&mut self, table: TableId, key: &[u8], writer: u64, now: Instant) -> bool {
        if !self.forgetting.is_empty() {
            return false;
        }
        let at = (table, key.to_vec());
        if let Some(recalled) = self.recalled.get(&at) {
            return recalled.waits_for.is_empty();
        }
        let holders = self.held.get(&at).into_iter().flatten().copied();
        let all: BTreeSet<Member> = self.listening_to(key).chain(holders).collect();
        if all.iter().any(|it| self.broken.contains_key(it)) {
            return false;
        }
        self.held.remove(&at);
        // This brick answers itself in the next turn, too: what leaves for other nodes in this one does so before what its clients are told.
        for holder in &all {
            self.send_recall(*holder, &at, (writer, true));
        }
        let is_free = all.is_empty();
        assert!(
            !self.held.contains_key(&at),
            "a key that is recalled is held"
        );
        if !is_free {
            let recalled = Recalled {
                writer,
                waits_for: all,
                since: now,
            };
            self.recalled.insert(at, recalled);
        }
        is_free
    }

    /// The write for which a key was recalled has happened: who reads it now may keep it.
    pub(crate) fn note_written(&mut self, table: TableId, key: &[u8]) {
        if !self.recalled.is_empty() {
            self.recalled.remove(&(table, key.to_vec()));
        }
    }

    /// The key is gone without any client's doing.
    pub(crate) fn note_gone(&mut self, table: TableId, key: &[u8]) {
        let at = (table, key.to_vec());
        self.let_go(&at);
        let listening: Vec<Member> = self.listening_to(key).collect();
        for member in listening {
            self.send_recall(member, &at, (0, false));
        }
    }

    /// All keys of a table are gone.
    pub(crate) fn note_cleared(&mut self, table: TableId) {
        let mut told: BTreeSet<Member> = self.listeners.keys().copied().collect();
        self.held.retain(|at, holders| {
            if at.0 == table {
                told.extend(holders.iter());
            }
            at.0 != table
        });
        for member in told {
            self.send(member, Notice::RecallAll);
        }
    }

    /// A brick has told its clients. Whether a write may go on that could not.
    pub(crate) fn on_recalled(&mut self, from: Member, table: TableId, key: Vec<u8>) -> bool {
        let recalled = self.recalled.get_mut(&(table, key));
        recalled.is_some_and(|it| it.waits_for.remove(&from) && it.waits_for.is_empty())
    }

    /// A brick's clients keep copies, and listen to these prefixes; `None`: they keep none.
    pub(crate) fn listen(&mut self, member: Member, round: u64, prefixes: Option<Vec<Vec<u8>>>) {
        match prefixes {
            Some(prefixes) => {
                self.listeners.insert(member, prefixes);
            }
            None => {
                self.listeners.remove(&member);
            }
        }
        if member != self.own {
            self.send(member, Notice::Listening { round });
        }
    }

    /// This brick leads these partitions, as one number, and maybe some that it did not lead before. Who keeps copies may have some that only the
    /// former primary knew of: no key is written before they have forgotten them.
    pub(crate) fn note_led(&mut self, led: u64, now: Instant) {
        if std::mem::replace(&mut self.led, led) == led {
            return;
        }
        let all: Vec<Member> = self.listeners.keys().copied().collect();
        for member in all {
            self.forgetting.insert(member, now);
            self.send(member, Notice::RecallAll);
        }
    }

    /// The stream to a brick is broken: what its clients were to be told may be lost.
    pub(crate) fn on_broken(&mut self, member: Member, now: Instant) {
        let is_owed = self.owed.contains_key(&member);
        if self.knows(member) {
            self.broken.entry(member).or_insert(now);
        } else if !is_owed {
            return;
        }
        self.have_forget(member, now);
    }

    /// A brick is to have its clients forget everything, and to say so.
    fn have_forget(&mut self, member: Member, now: Instant) {
        self.owed.insert(member, now);
        self.send(member, Notice::RecallAll);
    }

    /// Whether a brick has clients that may have copies, or has yet to answer.
    fn knows(&self, member: Member) -> bool {
        let is_awaited = |it: &Recalled| it.waits_for.contains(&member);
        self.listeners.contains_key(&member)
            || self.forgetting.contains_key(&member)
            || self.held.values().any(|it| it.contains(&member))
            || self.recalled.values().any(is_awaited)
    }

    /// What is known of a brick's copies goes.
    fn drop_held(&mut self, member: Member) {
        let before = self.held.len();
        self.held.retain(|_, holders| {
            holders.retain(|holder| *holder != member);
            !holders.is_empty()
        });
        assert!(self.held.len() <= before, "keys come while they go");
    }

    /// A brick does not answer, and is waited for no longer. Whether a write may go on that could not.
    fn lose(&mut self, member: Member, now: Instant) -> bool {
        assert_ne!(member, self.own, "a brick loses its own clients");
        if !self.owed.contains_key(&member) {
            self.have_forget(member, now);
        }
        self.listeners.remove(&member);
        self.drop_held(member);
        let mut is_free = self.broken.remove(&member).is_some();
        is_free |= self.forgetting.remove(&member).is_some() && self.forgetting.is_empty();
        for recalled in self.recalled.values_mut() {
            is_free |= recalled.waits_for.remove(&member) && recalled.waits_for.is_empty();
        }
        is_free
    }

    /// A brick has told its clients to forget everything. Whether a write may go on that could not.
    pub(crate) fn on_recalled_all(&mut self, member: Member) -> bool {
        self.owed.remove(&member);
        let was_broken = self.broken.remove(&member).is_some();
        if was_broken {
            // Nothing was noted for it since. To what its clients listen it has said before this.
            self.drop_held(member);
            let lost = self.recalled.iter();
            let lost = lost.filter(|(_, it)| it.waits_for.contains(&member));
            let lost: Vec<(At, u64)> = lost.map(|(at, it)| (at.clone(), it.writer)).collect();
            for (at, writer) in lost {
                self.send_recall(member, &at, (writer, true));
            }
        }
        let was_last = self.forgetting.remove(&member).is_some() && self.forgetting.is_empty();
        was_broken || was_last
    }

    /// Ends what has waited too long. Whether a write may go on that could not.
    pub(crate) fn on_tick(&mut self, now: Instant, is_member: impl Fn(Member) -> bool) -> bool {
        let is_late = |since: &Instant| now - *since >= PATIENCE;
        let silent = self.forgetting.iter().chain(&self.broken);
        let silent = silent.filter(|(_, since)| is_late(since));
        let mut late: BTreeSet<Member> = silent.map(|(member, _)| *member).collect();
        for recalled in self.recalled.values() {
            if is_late(&recalled.since) {
                late.extend(recalled.waits_for.iter().copied());
            }
        }
        // Its own clients this brick tells in a turn of its own, however late that is.
        late.remove(&self.own);
        let mut is_free = false;
        for member in late {
            is_free |= self.lose(member, now);
        }
        self.recalled.retain(|_, recalled| {
            !recalled.waits_for.is_empty() || now - recalled.since < PATIENCE + FREE_FOR
        });
        self.owed.retain(|member, _| is_member(*member));
        let owed = self.owed.iter();
        let again = owed.filter(|(_, told)| now - **told >= AGAIN_AFTER);
        let again: Vec<Member> = again.map(|(member, _)| *member).collect();
        for member in again {
            self.have_forget(member, now);
        }
        is_free
    }
}

#[cfg(test)]
#[path = "tracking_test.rs"]
mod tracking_test;
