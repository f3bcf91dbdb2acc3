//! What the map says: entering views, acknowledging changes, members coming and going.
//!
//! A view is entered when the map says that it is effective. A change that is only proposed is acted on by
//! two kinds of members (PROTOCOL rule 6): those that it removes stop, and its primary accepts, that is,
//! neither votes nor commits in an older view any more.

use crate::follow::put_cut;
use crate::frame::{Frame, Reason};
use crate::member::{Copy, Member, Phase};
use crate::{Entry, Host, LogMark, Replicator, Request, Role, Turn, ViewStart};
use brickyard_routing::{Group, Seat};
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Durability, Op, PartitionId, TableId, View};

impl<P> Replicator<P> {
    /// What the map says now. To be called for each partition that names this brick, in any role (also in
    /// `change`), and for those that did and no longer do; then [`Self::adopted`].
    pub fn adopt<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        table: TableId,
        partition: PartitionId,
        durability: Durability,
        min_in_sync: u8,
        group: &Group,
    ) {
        let me = self.config.me;
        if self.partitions.find(partition).is_none() && !names(group, me) {
            return;
        }
        let slot = self.partitions.find_or_add(partition, table);
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if group.view < it.place.view {
            return;
        }
        it.table = table;
        it.place.min_in_sync = usize::from(min_in_sync);
        let is_entered = group.view > it.place.view;
        let was_durable = std::mem::replace(&mut it.durability, durability);
        let change = group.change.as_deref();
        it.place.is_handing_over = change.is_some_and(|change| change.primary != me);
        let stops = change.filter(|change| change.fenced.contains(&me));
        let accepts = change.filter(|change| change.primary == me);
        if let Some(change) = stops.filter(|change| change.view > it.place.stopped) {
            // PROTOCOL rules 6 and 11.
            it.place.stopped = change.view;
            self.leave(slot, Reason::OldView);
        }
        if let Some(it) = self.partitions.get_mut(slot)
            && let Some(change) = accepts.filter(|change| change.view > it.place.accepted)
        {
            // PROTOCOL rule 8: from here on no vote and no commit in an older view.
            it.place.accepted = change.view;
            self.acknowledgements.has_fresh |= durability != Durability::Memory;
            self.leave(slot, Reason::OldView);
        }
        if is_entered {
            self.enter(host, slot, group);
        } else {
            self.stay(host, slot, group);
            if was_durable != durability {
                self.wait_anew(slot);
            }
        }
        self.tell(host, slot);
        self.settle(host);
    }

    /// The partition is gone from this brick (dropped, or moved away). Pending entries go through
    /// [`Host::cut`]. The views that were acknowledged are remembered (PROTOCOL rule 11).
    pub fn forget<H: Host<Payload = P>>(&mut self, host: &mut H, partition: PartitionId) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        self.leave(slot, Reason::NotMember);
        self.drop_members(slot);
        if let Some(mut gone) = self.partitions.remove(slot) {
            host.cut(partition, &mut gone.log.pending.drain(..).rev());
        }
    }

    /// A newer view is effective.
    fn enter<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32, group: &Group) {
        let me = self.config.me;
        self.leave(slot, Reason::OldView);
        self.drop_members(slot);
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        it.place.view = group.view;
        it.place.role = role_of(group, me);
        it.place.primary = group.primary;
        it.place.lineage = group.lineage;
        it.place.in_sync = group.in_sync().count();
        it.follow.begun = View(0);
        it.lead.unsent = 0;
        for entry in it.log.pending.iter_mut().rev() {
            // Inherited entries are sent with the `Begin` of each member, whose votes count from there on.
            entry.turn = Turn(0);
        }
        if it.place.role == Role::Primary {
            if it.log.last.0 > group.view {
                // The map is older than what was done here: nothing may be prepared over that.
                it.place.stopped = it.place.stopped.max(it.log.last.0);
                let (partition, view) = (it.id, it.log.last.0);
                let what = format!(
                    "the map says view {} and the log has view {view}",
                    group.view
                );
                self.requests.push_back(Request::Report { partition, what });
            } else if it.place.is_current() {
                self.begin_view(host, slot);
            }
            let others = group.backups.iter().map(|seat| (*seat, false));
            for (seat, is_learner) in others.chain(group.learners.iter().map(|it| (*it, true))) {
                self.add_member(slot, seat, is_learner);
            }
        } else {
            self.drop_refused(host, slot);
            self.join(slot);
        }
    }

    /// The view is the same; learners may have come or gone.
    fn stay<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32, group: &Group) {
        let role = role_of(group, self.config.me);
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let was = std::mem::replace(&mut it.place.role, role);
        if was != role {
            self.leave(slot, Reason::NotMember);
            self.drop_refused(host, slot);
            self.join(slot);
        }
        if role != Role::Primary {
            return;
        }
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let members = it.lead.members.iter();
        let gone: Vec<Seat> = members
            .filter(|member| member.is_learner && !group.learners.contains(&member.seat))
            // PROTOCOL rule 4: a vote that is required stays so until a newer view says what became of it.
            .filter(|member| !member.is_required)
            .map(|member| member.seat)
            .collect();
        for seat in gone {
            self.drop_member(slot, seat);
        }
        for seat in &group.learners {
            self.add_member(slot, *seat, true);
        }
    }

    /// This brick is the primary of a view that has just become effective.
    fn begin_view<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32) {
        self.append_again(host, slot);
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if it.log.owes_cut {
            let op = it.log.last.1;
            put_cut(host, it, op);
        }
        it.log.lineage = it.place.lineage;
        if it.log.last.0 < it.place.view {
            // PROTOCOL rule 28: a view starts with a record that names its predecessor.
            let start = ViewStart {
                predecessor: it.log.last,
                lineage: it.place.lineage,
            };
            let op = it.log.last.1.next();
            let header = own_header(Kind::ViewStart, it, op, it.log.committed);
            let (mark, payload) = host.append_own(&header, &start.encode());
            self.own.newest = self.own.newest.max(mark);
            it.log.push(Entry {
                view: it.place.view,
                op,
                mark,
                turn: Turn::NEVER,
                payload,
            });
            it.lead.unsent = 1;
        }
        self.make_dirty(slot);
        self.make_busy(slot);
    }

    /// Followers hold nothing that their own log refused, but for what they found in it when they started.
    fn drop_refused<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if it.retrying.is_none() {
            return;
        }
        let restored = it.log.restored;
        let mut refused = it.log.pending.iter();
        let refused = refused.find(|it| it.mark == LogMark::NEVER && it.op > restored);
        if let Some(op) = refused.map(|entry| Op(entry.op.0 - 1)) {
            let mut gone = it.log.cut(op);
            host.cut(it.id, &mut gone.drain(..).rev());
        }
        if !it.log.has_refused() && !it.log.owes_base {
            it.retrying = None;
            self.work.retrying.retain(|it| *it != slot);
        }
    }

    /// The map knows the primary now whose stream was refused: it is asked to begin again.
    fn join(&mut self, slot: u32) {
        let Some(it) = self.partitions.get(slot) else {
            return;
        };
        if !matches!(it.place.role, Role::Backup | Role::Learner) || !it.place.is_current() {
            return;
        }
        let (partition, view) = (it.id, it.place.view);
        let peer = self.peers.get(&it.place.primary);
        let Some((_, link)) = peer.and_then(|peer| peer.incoming) else {
            return;
        };
        let link = self.link(link);
        if let Some(link) = link.filter(|it| it.receiver.refused.contains_key(&partition)) {
            let id = link.id;
            self.put_frame(id, &Frame::Join { partition, view });
        }
    }

    fn add_member(&mut self, slot: u32, seat: Seat, is_learner: bool) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if seat == self.config.me || it.lead.members.iter().any(|member| member.seat == seat) {
            return;
        }
        let mut member = Member::new(seat, is_learner);
        let peer = self.peers.entry(seat).or_default();
        peer.wanted += 1;
        member.link = peer.outgoing;
        if member.link.is_some() {
            member.phase = Phase::Due;
        } else if peer.wanted == 1 {
            peer.dialed_at = Some(self.now);
            self.requests.push_back(Request::Dial(seat));
        }
        it.lead.members.push(member);
        self.make_due(slot);
    }

    fn drop_members(&mut self, slot: u32) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let members = it.lead.members.iter();
        let seats: Vec<Seat> = members.map(|member| member.seat).collect();
        for seat in seats {
            self.drop_member(slot, seat);
        }
    }

    fn drop_member(&mut self, slot: u32, seat: Seat) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let Some(at) = it
            .lead
            .members
            .iter()
            .position(|member| member.seat == seat)
        else {
            return;
        };
        let member = it.lead.members.remove(at);
        if matches!(member.copy, Copy::Running(_)) {
            self.requests.push_back(Request::StopCatchUp {
                partition: it.id,
                learner: seat,
            });
        }
        self.work.promotions.retain(|of| *of != (slot, seat));
        self.work.refused.retain(|of| (of.1, of.2) != (slot, seat));
        if let Some(peer) = self.peers.get_mut(&seat) {
            peer.wanted -= 1;
        }
        self.drop_peer(seat);
    }

    /// A peer that nobody wants, and that is not connected, is forgotten.
    pub(crate) fn drop_peer(&mut self, seat: Seat) {
        let is_idle = self.peers.get(&seat).is_some_and(|peer| {
            peer.wanted == 0 && peer.outgoing.is_none() && peer.incoming.is_none()
        });
        if is_idle {
            self.peers.remove(&seat);
        }
    }
}

fn role_of(group: &Group, me: Seat) -> Role {
    if group.primary == me {
        Role::Primary
    } else if group.backups.contains(&me) {
        Role::Backup
    } else if group.learners.contains(&me) {
        Role::Learner
    } else {
        Role::None
    }
}

fn names(group: &Group, me: Seat) -> bool {
    role_of(group, me) != Role::None
        || group
            .change
            .as_deref()
            .is_some_and(|change| change.primary == me || change.fenced.contains(&me))
}

/// The header of a control record.
pub(crate) fn own_header<P>(
    kind: Kind,
    partition: &crate::partition::Partition<P>,
    op: Op,
    committed: Op,
) -> Header {
    Header {
        kind,
        flags: 0,
        table: partition.table,
        partition: partition.id,
        view: partition.place.view,
        op,
        expires_at: None,
        request: None,
        origin: None,
        committed: Some(committed),
    }
}
