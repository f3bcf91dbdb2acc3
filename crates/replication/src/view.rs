//! What the map says: entering views, acknowledging changes, members coming and going.
//!
//! A view is entered when the map says that it is effective. A change that is only proposed is acted on by
//! two kinds of members (rule `a proposed view only stops`): those that it removes stop, and its primary accepts,
//! that is, neither votes nor commits in an older view any more.

use crate::follow::leave;
use crate::frame::Reason;
use crate::links::Links;
use crate::member::{Copy, Member, Phase};
use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::{Ready, Want};
use crate::summary::ViewStart;
use crate::work::Work;
use crate::{LogMark, PreparedRecord, Role, Sequence};
use brickyard_routing::{Group, Replica};
use brickyard_types::record::Kind;
use brickyard_types::{Durability, Instant, Op, TableId, View};

/// One partition, and what the map's word on it may change besides it.
pub(crate) struct Adoption<'a> {
    pub(crate) me: Replica,
    pub(crate) now: Instant,
    pub(crate) it: &'a mut Partition,
    pub(crate) links: &'a mut Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

/// What a table asks of its partitions.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The table.
    pub table: TableId,
    /// How durable a record has to be before it counts as held.
    pub durability: Durability,
    /// Fewer members in sync take no writes.
    pub min_in_sync: u8,
    /// So many copies there should be.
    pub replicas: u8,
}

impl Adoption<'_> {
    /// What the map says now.
    pub(crate) fn adopt(&mut self, demand: Demand, group: &Group) {
        let me = self.me;
        let it = &mut *self.it;
        if group.view < it.place.view {
            return;
        }
        it.table = demand.table;
        it.place.min_in_sync = usize::from(demand.min_in_sync);
        it.place.replicas = usize::from(demand.replicas);
        let is_entered = group.view > it.place.view;
        let was_durable = std::mem::replace(&mut it.durability, demand.durability);
        let change = group.change.as_deref();
        it.place.is_handing_over = change.is_some_and(|change| change.primary != me);
        let stops = change.filter(|change| change.fenced.contains(&me));
        if let Some(change) = stops.filter(|change| change.view > it.place.stopped) {
            // Rules `a proposed view only stops` and `acknowledged views are remembered`.
            it.place.stopped = change.view;
            leave(it, Reason::OldView, self.links, self.ready);
        }
        self.hand_over(group);
        if is_entered {
            self.enter(group);
        } else {
            self.stay(group);
            if was_durable != demand.durability {
                self.wait_anew();
            }
        }
        assert!(
            self.it.place.view >= group.view,
            "a view that was not entered"
        );
        self.it.tell(self.ready);
    }

    /// The partition is gone from this brick.
    pub(crate) fn end(&mut self) {
        leave(self.it, Reason::NotMember, self.links, self.ready);
        self.drop_members();
        self.work.end_hand_over(self.it.slot);
        self.it.cut(self.it.log.committed, self.ready);
        assert!(self.it.log.pending.is_empty(), "entries of what is gone");
    }

    /// A newer view is effective.
    fn enter(&mut self, group: &Group) {
        let me = self.me;
        leave(self.it, Reason::OldView, self.links, self.ready);
        self.drop_members();
        let it = &mut *self.it;
        it.place.view = group.view;
        it.place.role = role_of(group, me);
        it.place.primary = group.primary;
        it.place.generation = group.generation;
        it.place.in_sync = group.in_sync().count();
        it.follow.begun = View(0);
        it.lead.unsent = 0;
        for entry in &mut it.log.pending {
            // Inherited entries are sent with the `Begin` of each member, whose votes count from there on.
            entry.sequence = Sequence(0);
        }
        if it.place.role == Role::Primary {
            if it.log.last.0 > group.view {
                // The map is older than what was done here: nothing may be prepared over that.
                it.place.stopped = it.place.stopped.max(it.log.last.0);
                let view = it.log.last.0;
                let what = format!(
                    "the map says view {} and the log has view {view}",
                    group.view
                );
                self.ready.report(it.id, what);
            } else if it.place.is_current() {
                self.begin_view();
            }
            let others = group.backups.iter().map(|replica| (*replica, false));
            for (replica, is_learner) in others.chain(group.learners.iter().map(|it| (*it, true))) {
                self.add_member(replica, is_learner);
            }
        } else {
            self.drop_refused();
            self.join();
        }
    }

    /// The view is the same; learners may have come or gone.
    fn stay(&mut self, group: &Group) {
        let role = role_of(group, self.me);
        let was = std::mem::replace(&mut self.it.place.role, role);
        if was != role {
            leave(self.it, Reason::NotMember, self.links, self.ready);
            self.drop_refused();
            self.join();
        }
        if role != Role::Primary {
            return;
        }
        let members = self.it.lead.members.iter();
        let gone: Vec<Replica> = members
            .filter(|member| member.is_learner && !group.learners.contains(&member.replica))
            // Rule `learner votes before promotion`: a vote that is required stays so until a newer view says what
            // became of it.
            .filter(|member| !member.is_required)
            .map(|member| member.replica)
            .collect();
        for replica in gone {
            self.drop_member(replica);
        }
        for replica in &group.learners {
            self.add_member(*replica, true);
        }
    }

    /// This brick is the primary of a view that has just become effective.
    fn begin_view(&mut self) {
        let Self {
            it,
            own,
            work,
            ready,
            ..
        } = self;
        own.append_again(it, work, ready);
        if it.log.is_cut_due {
            own.put_cut(it, it.log.last.1, ready);
        }
        it.log.generation = it.place.generation;
        if it.log.last.0 < it.place.view {
            // Rule `a cut is a record`: a view starts with a record that names its predecessor.
            let start = ViewStart {
                predecessor: it.log.last,
                generation: it.place.generation,
            };
            let op = it.log.last.1.next();
            let header = it.header(Kind::ViewStart, op, it.log.committed);
            let mark = own.put(it, header, &start.encode(), ready);
            it.log.push(PreparedRecord {
                view: it.place.view,
                op,
                mark,
                sequence: Sequence::NEVER,
            });
            it.lead.unsent = 1;
        }
        assert_eq!(it.log.last.0, it.place.view, "a view without a beginning");
        work.make_dirty(it);
        work.make_busy(it);
    }

    /// Followers hold nothing that their own log refused, but for what they found in it when they started.
    fn drop_refused(&mut self) {
        let it = &mut *self.it;
        if it.retrying.is_none() {
            return;
        }
        let restored = it.log.restored;
        let mut refused = it.log.pending.iter();
        let refused = refused.find(|it| it.mark == LogMark::NEVER && it.op > restored);
        if let Some(op) = refused.map(|entry| Op(entry.op.0 - 1)) {
            it.cut(op, self.ready);
        }
        if !it.log.has_refused() && !it.log.is_baseline_due {
            self.work.end_retry(it);
        }
    }

    /// The map knows the primary now whose stream was refused: it is asked to begin again.
    fn join(&mut self) {
        let place = &self.it.place;
        if matches!(place.role, Role::Backup | Role::Learner) && place.is_current() {
            let (partition, view) = (self.it.id, place.view);
            self.links
                .ask_again(place.primary, partition, view, self.ready);
        }
    }

    /// Durability changed: what waited for one thing waits for another.
    fn wait_anew(&mut self) {
        let Self {
            it,
            links,
            own,
            work,
            ..
        } = self;
        for member in &it.lead.members {
            if let Some(link) = member.link.and_then(|id| links.get_mut(id)) {
                let sent = link.sender.sent;
                link.sender.await_vote(sent, it.slot, it.durability);
            }
        }
        own.await_both(it.log.mark, it.slot);
        work.make_ready(it);
    }

    fn add_member(&mut self, replica: Replica, is_learner: bool) {
        let Self {
            it, links, work, ..
        } = self;
        if replica == self.me
            || it
                .lead
                .members
                .iter()
                .any(|member| member.replica == replica)
        {
            return;
        }
        let mut member = Member::new(replica, is_learner);
        member.link = links.want(replica, self.now, self.ready);
        if member.link.is_some() {
            member.phase = Phase::Due;
        }
        it.lead.members.push(member);
        work.make_due(it);
    }

    fn drop_members(&mut self) {
        let members = self.it.lead.members.iter();
        let replicas: Vec<Replica> = members.map(|member| member.replica).collect();
        for replica in replicas {
            self.drop_member(replica);
        }
        assert!(self.it.lead.members.is_empty(), "a member stays behind");
    }

    fn drop_member(&mut self, replica: Replica) {
        let members = &mut self.it.lead.members;
        let Some(at) = members.iter().position(|member| member.replica == replica) else {
            return;
        };
        let member = members.remove(at);
        if matches!(member.copy, Copy::Running(_)) {
            self.ready.request(Want::StopCatchUp {
                partition: self.it.id,
                learner: replica,
            });
        }
        self.work.forget_promotion(self.it.slot, replica);
        self.work.forget_refusal(self.it.slot, replica);
        self.links.release(replica);
    }
}

fn role_of(group: &Group, me: Replica) -> Role {
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

pub(crate) fn names(group: &Group, me: Replica) -> bool {
    role_of(group, me) != Role::None
        || group
            .change
            .as_deref()
            .is_some_and(|change| change.primary == me || change.fenced.contains(&me))
}
