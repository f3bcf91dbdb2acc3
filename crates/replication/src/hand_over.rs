//! A hand-over among members: the new primary waits until the former one has nothing more to send.
//!
//! Who accepts a view as its primary takes nothing of an older one any more. What the former primary sends meanwhile would be
//! cut, and its clients told that nobody knows. But the former one stays in sync, prepares nothing from the proposal on, and
//! says so behind its last record ([`Frame::Yield`]). With that the new one accepts; what is pending is inherited and commits in
//! the new view, and the former primary, which follows it, has the answers.
//!
//! Invariant: nothing rests on it but such answers. A new primary waits for [`PATIENCE`] and a tick at most, and not at all where
//! the former one is to stop.

use crate::LinkId;
use crate::Role;
use crate::flush::Flush;
use crate::follow::{Inflow, leave};
use crate::frame::{Frame, FrameError, Reason};
use crate::links::Links;
use crate::member::Phase;
use crate::own_log::OwnLog;
use crate::partition::{Awaited, Partition};
use crate::ready::{Ready, Want};
use crate::tick::Tick;
use crate::view::Adoption;
use crate::work::Work;
use brickyard_routing::{Group, ViewChange};
use brickyard_types::{Durability, PartitionId, View};
use std::time::Duration;

/// How long a new primary waits for the former one's word.
const PATIENCE: Duration = Duration::from_millis(100);

impl Adoption<'_> {
    /// The map says what is to become of the partition: whether this brick accepts, or waits for that, or is to say that it has
    /// nothing more to send.
    pub(crate) fn hand_over(&mut self, group: &Group) {
        let me = self.me;
        let change = group.change.as_deref();
        let awaited = self.it.place.awaited.take();
        let accepts = change.filter(|it| it.primary == me && it.view > self.it.place.accepted);
        match accepts {
            Some(change) if self.is_worth_waiting(group, change) => {
                let awaited = awaited.filter(|it| it.view == change.view);
                self.it.place.awaited = Some(awaited.unwrap_or(Awaited {
                    view: change.view,
                    since: self.now,
                }));
                if !self.work.awaiting.contains(&self.it.slot) {
                    self.work.awaiting.push(self.it.slot);
                }
            }
            Some(change) => {
                let view = change.view;
                accept(self.it, view, self.own, self.work, self.links, self.ready);
            }
            None => self.work.end_awaiting(self.it.slot),
        }
        let yields = change.filter(|it| it.primary != me && it.backups.contains(&me));
        let is_primary = self.it.place.role == Role::Primary && self.it.place.view == group.view;
        if let Some(change) = yields.filter(|_| is_primary) {
            self.work
                .yielding
                .push((self.it.slot, change.view, change.primary));
        }
    }

    /// The former primary goes on as a backup, it is connected, and has not said that it has nothing more to send.
    fn is_worth_waiting(&self, group: &Group, change: &ViewChange) -> bool {
        let it = &*self.it;
        it.place.role == Role::Backup
            && it.place.view == group.view
            && !change.fenced.contains(&group.primary)
            && it.follow.stream.is_some()
            && it.follow.yielded != change.view
    }
}

/// Rule `a primary accepts its view`: from here on no vote and no commit in an older view.
fn accept(
    it: &mut Partition,
    view: View,
    own: &mut OwnLog,
    work: &mut Work,
    links: &mut Links,
    ready: &mut Ready,
) {
    assert!(view > it.place.accepted, "{} is accepted twice", it.id);
    it.place.awaited = None;
    work.end_awaiting(it.slot);
    it.place.accepted = view;
    own.acknowledgements.has_fresh |= it.durability != Durability::Memory;
    leave(it, Reason::OldView, links, ready);
}

/// All that a version of the catalog asked to be accepted is, if it is: the control plane may be told.
fn end_version(own: &mut OwnLog, work: &Work, ready: &mut Ready) {
    if work.awaiting.is_empty()
        && let Some(version) = own.acknowledgements.take_held()
        && own.acknowledgements.on_adopted(version, own.newest)
    {
        ready.request(Want::SyncLog);
    }
}

impl Inflow<'_> {
    /// The primary of the current view prepares nothing more before that view, and has sent all that it has.
    pub(crate) fn on_yield(
        &mut self,
        partition: PartitionId,
        view: View,
    ) -> Result<(), FrameError> {
        let link: LinkId = self.link;
        let Some(follower) = self.find(partition) else {
            return Ok(());
        };
        let it = follower.it;
        // Rule `votes belong to a stream`: of another stream nothing counts.
        if it.follow.stream != Some(link) {
            return Ok(());
        }
        it.follow.yielded = view;
        if it.place.awaited.is_some_and(|it| it.view == view) {
            accept(
                it,
                view,
                follower.own,
                follower.work,
                follower.links,
                follower.ready,
            );
            it.tell(follower.ready);
            end_version(follower.own, follower.work, follower.ready);
        }
        Ok(())
    }
}

impl Tick<'_> {
    /// Accepts what was waited for in vain.
    pub(crate) fn end_patience(&mut self) {
        for slot in self.work.awaiting.clone() {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            let late = it
                .place
                .awaited
                .filter(|it| self.now - it.since >= PATIENCE);
            if let Some(late) = late {
                accept(it, late.view, self.own, self.work, self.links, self.ready);
                it.tell(self.ready);
            }
        }
        end_version(self.own, self.work, self.ready);
    }
}

impl Flush<'_> {
    /// Behind the last records of partitions that are handed over.
    pub(crate) fn yield_partitions(&mut self) {
        for (slot, view, primary) in std::mem::take(&mut self.work.yielding) {
            let Some(it) = self.partitions.get_mut(slot).filter(|it| it.leads()) else {
                continue;
            };
            let mut members = it.lead.members.iter().filter(|it| it.replica == primary);
            let member = members.find(|it| matches!(it.phase, Phase::Streaming { .. }));
            let link = member.and_then(|member| self.links.of(member));
            if let Some(link) = link {
                let partition = it.id;
                self.ready.frame(link.id, &Frame::Yield { partition, view });
            }
        }
    }
}
