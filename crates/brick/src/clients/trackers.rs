//! Clients that keep copies of what they read: which keys each of them may have, and what it is told.
//!
//! In:  reads of clients that track; prefixes that clients listen to; [`Notice`]s of the bricks that have the keys. Out: messages in the clients' outputs, answers
//!      to those bricks.
//!
//! Invariants:
//! - A key is noted for a client before it is read: a recall that overtakes the reply finds the client.
//! - A client is told behind the reply that the copy may come with; and at once too, so that what it has already is not kept for that long.
//! - A brick is answered in the turn after that in which the clients were told: what they are told has left by then.
//!
//! Who has a lease of a key is told at once that it is recalled, whatever replies of its wait: what it has asked and has no answer to, it does not keep either once it has heard of it.
//!
//! What clients of other bricks of the node are told in their place (`REDIRECT`) goes there as a [`Redirected`] message.

use super::Clients;
use super::subscribers::UNREAD_MAX;
use crate::accepted::ConnectionId;
use crate::core::Core;
use crate::leases::Told;
use crate::log::Writer;
use crate::output::CommitDependency;
use crate::request::{Request, Token, Work};
use crate::settings::Settings;
use crate::told::{Beginnings, Tracking};
use crate::trackers::{CONFIRMED_WITHIN, Client, Redirected};
use crate::tracking::{Notice, Outgoing};
use brickyard_routing::Member;
use brickyard_types::{Instant, TableId};
use brickyard_wire::{Protocol, Reply};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

/// The channel on which a connection of RESP2 is told for another one.
const CHANNEL: &[u8] = b"__redis__:invalidate";

impl Clients {
    /// Whether what the client reads now is noted for it.
    #[inline]
    pub(crate) fn tracks(&self, id: ConnectionId) -> bool {
        let tracking = self
            .get(id)
            .and_then(|it| it.session.told.tracking.as_deref());
        tracking.is_some_and(Tracking::notes_reads)
    }

    /// Whether the client tracks anything.
    #[inline]
    pub(crate) fn is_tracker(&self, id: ConnectionId) -> bool {
        self.get(id)
            .is_some_and(|it| it.session.told.tracking.is_some())
    }

    /// What `CLIENT CACHING` said holds for one command, or one transaction.
    pub(crate) fn end_caching(&mut self, id: ConnectionId) {
        let session = self.get_mut(id).map(|it| &mut it.session);
        if let Some(session) = session.filter(|it| it.multi.queue.is_none())
            && let Some(tracking) = &mut session.told.tracking
        {
            tracking.caching = None;
        }
    }

    /// The client reads these keys and may keep copies of what it gets.
    pub(crate) fn note_reads<'a>(
        &mut self,
        id: ConnectionId,
        table: TableId,
        keys: impl Iterator<Item = &'a [u8]>,
        keys_max: u64,
    ) {
        let client = (id, self[id].client);
        for key in keys {
            let at = (table, key.to_vec());
            let is_new = !self.trackers.keys.contains_key(&at);
            while is_new && self.trackers.keys.len() as u64 >= keys_max.max(1) {
                self.forget_one();
            }
            self.trackers.add(at, client);
        }
    }

    /// One key makes room for others: who may have copies of it is told.
    fn forget_one(&mut self) {
        let trackers = &mut self.trackers;
        let after = (Bound::Excluded(trackers.evicted.clone()), Bound::Unbounded);
        let next = trackers.keys.range(after).next();
        let Some((at, _)) = next.or_else(|| trackers.keys.first_key_value()) else {
            return;
        };
        let at = at.clone();
        trackers.evicted = at.clone();
        for client in trackers.take(&at) {
            self.tell_changed(client, Some(&at.1));
        }
    }

    /// Nobody may keep a copy of a key any more: who may have one is told.
    pub(crate) fn recall(&mut self, own: Member, table: TableId, key: &[u8], writer: u64) {
        let mut told: BTreeSet<Client> = BTreeSet::new();
        let at = (table, key.to_vec());
        told.extend(self.trackers.take(&at));
        let listening = self.trackers.listeners.iter();
        for (_, clients) in listening.filter(|(prefix, _)| key.starts_with(prefix)) {
            told.extend(clients);
        }
        for client in told {
            let tracking = self.get(client.0).filter(|it| it.client == client.1);
            let tracking = tracking.and_then(|it| it.session.told.tracking.as_deref());
            let skips_own = tracking.is_some_and(|it| it.skips_own);
            if !skips_own || Writer::of(own, client.0).0 != writer {
                self.tell_changed(client, Some(key));
            } else if tracking.is_some_and(|it| it.listens_to.is_none()) {
                // It may have asked to read the key again already.
                self.trackers.add(at.clone(), client);
            }
        }
    }

    /// Nobody may keep a copy of anything any more.
    pub(crate) fn recall_all(&mut self) {
        let have_read = !self.trackers.keys.is_empty();
        self.trackers.clear();
        for (id, number) in self.trackers.clients.clone() {
            let tracking = self
                .get(id)
                .and_then(|it| it.session.told.tracking.as_deref());
            // Who has read nothing since it was told last keeps nothing.
            if have_read || tracking.is_some_and(|it| it.listens_to.is_some()) {
                self.tell_changed((id, number), None);
            }
        }
    }

    /// The client has read these keys in a way that leaves no holder: it may keep none of them.
    pub(crate) fn tell_behind<'a>(
        &mut self,
        id: ConnectionId,
        keys: impl Iterator<Item = &'a [u8]>,
    ) {
        let client = (id, self[id].client);
        for key in keys {
            self.tell_changed(client, Some(key));
        }
    }

    /// A client is told of a key, or that all of them go.
    fn tell_changed(&mut self, (id, number): Client, key: Option<&[u8]>) {
        let Some(connection) = self.get_mut(id).filter(|it| it.client == number) else {
            return;
        };
        let Some(tracking) = connection.session.told.tracking.as_deref() else {
            return;
        };
        if let Some(client) = tracking.redirect {
            let key = key.map(<[u8]>::to_vec);
            let tracker = id;
            self.trackers.redirected.push(Redirected {
                tracker,
                client,
                key,
            });
            return;
        }
        if connection.session.protocol != Protocol::Resp3 {
            // It knows no messages that answer nothing, and names nobody who does.
            return;
        }
        if connection.output.len() > UNREAD_MAX {
            return self.on_broken(id);
        }
        let mut message = Vec::new();
        let mut push = Reply::new(&mut message, Protocol::Resp3);
        push.push(2);
        push.bulk(b"invalidate");
        write_keys(&mut push, key);
        let is_held = connection.output.is_held();
        connection.output.push(&message);
        if is_held {
            // A reply that waits may bring a copy of how the key was.
            let out = connection.output.begin();
            let start = out.len();
            out.extend_from_slice(&message);
            connection.output.end(start, CommitDependency::NONE);
        }
        self.list(id);
    }

    /// A client is told to give back its lease of a key of that table. One that is gone has none to give back.
    pub(crate) fn tell_recalled(&mut self, table: &str, told: &Told) {
        let (id, number) = told.client;
        let connection = self.get_mut(id).filter(|it| it.client == number);
        // One that speaks the old protocol by now knows no such messages: its lease runs out.
        let connection = connection.filter(|it| it.session.protocol == Protocol::Resp3);
        let Some(connection) = connection else {
            return;
        };
        if connection.output.len() > UNREAD_MAX {
            return self.on_broken(id);
        }
        let mut message = Vec::new();
        let mut push = Reply::new(&mut message, Protocol::Resp3);
        push.push(4);
        push.bulk(b"recall");
        push.bulk(table.as_bytes());
        push.bulk(&told.key);
        push.integer(told.number.cast_signed());
        connection.output.push(&message);
        self.list(id);
    }

    /// A connection of this brick is told for another one.
    pub(crate) fn deliver_redirected(&mut self, (id, number): Client, key: Option<&[u8]>) {
        let Some(connection) = self.get(id).filter(|it| it.client == number) else {
            return;
        };
        let is_resp3 = connection.session.protocol == Protocol::Resp3;
        if !is_resp3 && connection.session.told.subscriptions.is_none() {
            return;
        }
        if connection.output.len() > UNREAD_MAX {
            return self.on_broken(id);
        }
        self.push(id, |push| {
            if is_resp3 {
                push.push(2);
                push.bulk(b"invalidate");
            } else {
                push.push(3);
                push.bulk(b"message");
                push.bulk(CHANNEL);
            }
            write_keys(push, key);
        });
        self.list(id);
    }

    /// Nobody is there any more whom the client has told of its keys.
    pub(crate) fn on_broken_redirect(&mut self, id: ConnectionId, redirect: u64) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        let is_resp3 = connection.session.protocol == Protocol::Resp3;
        let tracking = connection.session.told.tracking.as_deref_mut();
        let tracking = tracking.filter(|it| it.redirect == Some(redirect) && !it.is_broken);
        let Some(tracking) = tracking else {
            return;
        };
        tracking.is_broken = true;
        if is_resp3 {
            self.push(id, |push| {
                push.push(2);
                push.bulk(b"tracking-redir-broken");
                push.integer(redirect.cast_signed());
            });
            self.list(id);
        }
    }

    /// The client tracks from now on, in this way.
    pub(crate) fn track(&mut self, core: &Core, id: ConnectionId, tracking: Tracking) {
        let client = (id, self[id].client);
        if self.trackers.is_empty() {
            self.trackers.primaries = primaries(core);
        }
        self.trackers.clients.insert(client);
        if let Some(Beginnings(prefixes)) = &tracking.listens_to {
            for prefix in prefixes {
                let listening = self.trackers.listeners.entry(prefix.clone()).or_default();
                listening.insert(client);
            }
        }
        self[id].session.told.tracking = Some(Box::new(tracking));
        assert!(self.is_tracker(id), "client {} tracks", client.1);
        self.recount(id);
    }

    /// It tracks nothing any more.
    pub(crate) fn untrack(&mut self, id: ConnectionId) {
        let tracking = self[id].session.told.tracking.take();
        let client = self[id].client;
        self.leave_trackers((id, client), tracking);
    }

    /// A client that is gone, or tracks no more, is taken from where it was known.
    pub(super) fn leave_trackers(&mut self, client: Client, tracking: Option<Box<Tracking>>) {
        let Some(tracking) = tracking else {
            return;
        };
        self.trackers.clients.remove(&client);
        if let Some(Beginnings(prefixes)) = &tracking.listens_to {
            self.trackers.leave_listeners(client, prefixes);
        }
        // Of others' keys it is found to be gone when they are recalled.
        if self.trackers.is_empty() {
            self.trackers.clear();
        }
    }

    /// All bricks are told to what clients of this one listen. With a token its client is answered when they know; else clients forget
    /// everything then.
    pub(crate) fn tell_listeners(&mut self, core: &mut Core, waits: Option<Token>) {
        let own = core.member();
        let trackers = &mut self.trackers;
        trackers.round.number += 1;
        trackers.round.missing = members(core).filter(|it| *it != own).collect();
        trackers.round.forgets |= waits.is_none();
        trackers.begun.extend(waits.map(|token| (token, core.now)));
        let prefixes = (!trackers.is_empty()).then(|| trackers.prefixes());
        core.holders.listen(own, trackers.round.number, prefixes);
        self.tell_missing(core);
    }

    fn tell_missing(&mut self, core: &mut Core) {
        let trackers = &self.trackers;
        for member in &trackers.round.missing {
            let notice = Notice::Listen {
                round: trackers.round.number,
                is_tracking: !trackers.is_empty(),
                prefixes: trackers.prefixes(),
            };
            core.outbox.tell(*member, notice);
        }
    }

    /// A brick knows to what clients listen.
    pub(crate) fn on_listening(&mut self, from: Member, round: u64) {
        if round == self.trackers.round.number {
            self.trackers.round.missing.remove(&from);
        }
    }

    /// Clients that are answered by now, since all bricks know to what they listen, or some do not say so. What was changed before that was not
    /// heard of, and is forgotten.
    pub(crate) fn take_listening(&mut self, now: Instant) -> Vec<Token> {
        let trackers = &mut self.trackers;
        let is_complete = trackers.round.missing.is_empty();
        let is_due = |since: &Instant| is_complete || now - *since >= CONFIRMED_WITHIN;
        let due: Vec<Token> = trackers
            .begun
            .extract_if(.., |(_, since)| is_due(since))
            .map(|(token, _)| token)
            .collect();
        if !is_complete {
            // Those who were answered too early hear of it when it is complete.
            trackers.round.forgets |= !due.is_empty();
        } else if std::mem::take(&mut trackers.round.forgets) {
            self.recall_all();
        }
        assert!(
            !self.trackers.round.missing.is_empty() || self.trackers.begun.is_empty(),
            "all bricks know, and clients wait"
        );
        due
    }

    /// Now and then: bricks that have not confirmed to what clients listen are told again.
    pub(crate) fn retry_listeners(&mut self, core: &mut Core) {
        let current: BTreeSet<Member> = members(core).collect();
        self.trackers
            .round
            .missing
            .retain(|it| current.contains(it));
        self.tell_missing(core);
    }

    /// Another map was adopted: where it has other primaries, those know nothing of this brick's clients.
    pub(crate) fn look_at_primaries(&mut self, core: &mut Core) {
        let (led, now) = (led(core), core.now);
        core.holders.note_led(led, now);
        if self.trackers.is_empty() {
            return;
        }
        let now = primaries(core);
        if std::mem::replace(&mut self.trackers.primaries, now) != now {
            self.begin_anew(core);
        }
    }

    /// What was known of copies in other bricks' hands may not be known there any more: clients forget everything, as soon as
    /// those bricks know to what they listen.
    pub(crate) fn begin_anew(&mut self, core: &mut Core) {
        if self.trackers.is_empty() {
            return;
        }
        self.recall_all();
        self.tell_listeners(core, None);
    }
}

/// The primaries of all partitions as one number: another one, if any of them is another brick or another life of it.
fn primaries(core: &Core) -> u64 {
    let mut hasher = DefaultHasher::new();
    for state in core.tables.iter() {
        state.id.hash(&mut hasher);
        let groups = state.map.groups().iter();
        groups.for_each(|group| group.primary.hash(&mut hasher));
    }
    hasher.finish()
}

/// The partitions that this brick leads, as one number.
fn led(core: &Core) -> u64 {
    let mut hasher = DefaultHasher::new();
    let own = core.member();
    for state in core.tables.iter() {
        for (place, group) in state
            .map
            .partitions()
            .leaves()
            .iter()
            .zip(state.map.groups())
        {
            if group.primary.member == own {
                (state.id, place.partition).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// All bricks of the cluster.
pub(crate) fn members(core: &Core) -> impl Iterator<Item = Member> {
    let catalog = core.tables.catalog();
    catalog.nodes().flat_map(|node| {
        let bricks = 0..u32::try_from(node.bricks().len()).unwrap_or(u32::MAX);
        bricks.map(|brick| Member {
            node: node.id,
            brick: brickyard_types::BrickId(brick),
        })
    })
}

/// What the client has just read here is noted for it.
pub(crate) fn note_reads<'a>(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    keys: impl Iterator<Item = &'a [u8]>,
) {
    let table = clients[id].session.table;
    if let Some(state) = core.table(table) {
        let keys_max = Settings::load(&core.shared.settings.tracked_keys_max);
        clients.note_reads(id, state.id, keys, keys_max);
    }
}

/// A client that tracks asks this, and will keep copies of what it reads; of a distributed transaction's it keeps none, since
/// those are read for its coordinator.
pub(crate) fn track(core: &Core, clients: &mut Clients, id: ConnectionId, request: &mut Request) {
    let keys = request.work.keys_read();
    if keys.is_empty() {
        return;
    }
    let is_distributed = matches!(&request.work, Work::Transaction(it) if it.anchor.is_some());
    if is_distributed {
        return clients.tell_behind(id, keys.into_iter());
    }
    let keys_max = Settings::load(&core.shared.settings.tracked_keys_max);
    clients.note_reads(id, request.table, keys.into_iter(), keys_max);
    request.is_tracked = true;
}

/// Sends notices of this turn that are for other bricks, and takes those that are for this one.
pub(crate) fn take_own(core: &mut Core, clients: &mut Clients) {
    let own = core.member();
    for Outgoing { to, notice } in core.holders.take_outgoing() {
        match notice {
            Notice::Recall {
                table,
                key,
                writer,
                is_awaited,
            } if to == own => {
                clients.recall(own, table, &key, writer);
                if is_awaited {
                    clients
                        .trackers
                        .answer(own, Notice::Recalled { table, key });
                }
            }
            Notice::RecallAll if to == own => {
                clients.recall_all();
                clients.trackers.answer(own, Notice::RecalledAll);
            }
            notice => core.outbox.tell(to, notice),
        }
    }
}

/// The keys that a message names.
fn write_keys(push: &mut Reply<'_>, key: Option<&[u8]>) {
    match key {
        Some(key) => {
            push.array(1);
            push.bulk(key);
        }
        None => push.null(),
    }
}
