//! Copies that clients keep of keys: what other bricks say of them, and what this brick tells its clients and others.
//!
//! In:  [`Notice`]s. Out: messages in clients' outputs, answers; writes that waited for copies to be recalled run.
//!
//! Not here: who holds copies (`tracking`), which clients are told (`clients/trackers`).

use crate::clients::{Clients, members, take_own};
use crate::core::Core;
use crate::effect::Effect;
use crate::forward::Forward;
use crate::replica::replica_of;
use crate::request::Token;
use crate::tracking::Notice;
use brickyard_routing::Member;
use std::collections::BTreeSet;

/// What there is of copies on a brick.
pub(crate) struct Copies<'a> {
    core: &'a mut Core,
    clients: &'a mut Clients,
}

impl<'a> Copies<'a> {
    pub(crate) fn new(core: &'a mut Core, clients: &'a mut Clients) -> Self {
        Self { core, clients }
    }

    /// Another brick has said something of copies.
    pub(crate) fn on_notice(&mut self, from: Member, notice: Notice) {
        let own = self.core.member();
        match notice {
            Notice::Recall {
                table,
                key,
                writer,
                is_awaited,
            } => {
                self.clients.recall(own, table, &key, writer);
                if is_awaited {
                    self.clients
                        .trackers
                        .answer(from, Notice::Recalled { table, key });
                }
                self.tell_nobody_keeps(from);
            }
            Notice::Recalled { table, key } => {
                let is_free = self.core.holders.on_recalled(from, table, key);
                self.wake_writers(is_free);
            }
            Notice::RecallAll => {
                self.clients.begin_anew(self.core);
                self.clients.trackers.answer(from, Notice::RecalledAll);
                self.tell_nobody_keeps(from);
            }
            Notice::RecalledAll => {
                let is_free = self.core.holders.on_recalled_all(from);
                self.wake_writers(is_free);
            }
            Notice::Listen {
                round,
                is_tracking,
                prefixes,
            } => {
                if from.node != own.node {
                    self.dial_holder(from);
                }
                let prefixes = is_tracking.then_some(prefixes);
                self.core.holders.listen(from, round, prefixes);
            }
            // It is about no copy: a feed of this brick's has heard of it.
            Notice::Changed { .. } => {}
            Notice::Listening { round } => self.clients.on_listening(from, round),
        }
    }

    /// In the turn after: who has recalled copies hears that clients were told, this brick itself like others.
    pub(crate) fn answer(&mut self) {
        let own = self.core.member();
        for (to, notice) in self.clients.trackers.take_answers() {
            if to == own {
                self.on_notice(own, notice);
            } else {
                self.core.outbox.tell(to, notice);
            }
        }
    }

    /// A brick of another node holds copies: there is a stream to it by the time at which they are recalled.
    pub(crate) fn dial_holder(&mut self, member: Member) {
        let catalog = self.core.tables.catalog();
        if self.core.replicas.link_to(catalog, member).is_none() {
            let dial = replica_of(catalog, member).map(Effect::Dial);
            self.core.effects.extend(dial);
        }
    }

    /// The stream to a brick is gone, with recalls and their answers: its clients are to forget everything, and so are this brick's.
    pub(crate) fn lose(&mut self, member: Member) {
        self.core.holders.on_broken(member, self.core.now);
        self.clients.begin_anew(self.core);
    }

    /// Another brick waits for clients of this one, of which none keeps anything any more.
    fn tell_nobody_keeps(&mut self, member: Member) {
        if self.clients.trackers.is_empty() {
            let notice = Notice::Listen {
                round: 0,
                is_tracking: false,
                prefixes: Vec::new(),
            };
            self.clients.trackers.answer(member, notice);
        }
    }

    /// Writes that waited for copies to be recalled run, if some may.
    fn wake_writers(&mut self, is_free: bool) {
        if is_free {
            self.core.replicas.wake();
        }
    }

    /// At the end of a turn: clients of this brick are told what they are to be told, and other bricks. Those are returned whose `CLIENT
    /// TRACKING` all bricks know of by now.
    pub(crate) fn send(&mut self) -> Vec<Token> {
        if self.core.holders.has_outgoing() {
            take_own(self.core, self.clients);
        }
        for told in self.core.holders.leases.take_outgoing() {
            if let Some(state) = self.core.tables.of(told.table) {
                self.clients.tell_recalled(&state.name, &told);
            }
        }
        if self.clients.trackers.is_empty() {
            return Vec::new();
        }
        for redirected in self.clients.trackers.take_redirected() {
            let (tracker, client, key) = (redirected.tracker, redirected.client, redirected.key);
            let own = self.core.member();
            match self.core.shared.directory.find(client) {
                None => self.clients.on_broken_redirect(tracker, client),
                Some((brick, connection)) if brick == own.brick => {
                    let client = (connection, client);
                    self.clients.deliver_redirected(client, key.as_deref());
                }
                Some((brick, connection)) => {
                    let message = Forward::Redirected {
                        connection,
                        client,
                        key,
                    };
                    self.core.outbox.push(Member { brick, ..own }, message);
                }
            }
        }
        self.clients.take_listening(self.core.now)
    }

    /// Several times a second: bricks that do not answer are waited for no longer, or asked again.
    pub(crate) fn tick(&mut self) {
        self.core.holders.leases.tick(self.core.now);
        if self.core.holders.is_unsettled() {
            let members: BTreeSet<Member> = members(self.core).collect();
            let now = self.core.now;
            let is_free = self.core.holders.on_tick(now, |it| members.contains(&it));
            self.wake_writers(is_free);
        }
        if !self.clients.trackers.is_empty() {
            self.clients.retry_listeners(self.core);
        }
        let [clients, keys, items, prefixes] = self.clients.trackers.counts();
        let stats = &self.core.stats().tracking;
        stats.clients.set(clients);
        stats.keys.set(keys);
        stats.items.set(items);
        stats.prefixes.set(prefixes);
        stats.leased.set(self.core.holders.leases.len() as u64);
    }
}
