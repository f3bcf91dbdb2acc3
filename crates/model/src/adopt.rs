//! A brick and the map: acknowledging changes, entering views, leaving the group.

use crate::map::{Change, Group, Map, Role};
use crate::state::{BRICKS, Follow, Member};
use crate::world::World;
use crate::{Replica, Rule};

impl World<'_> {
    /// The next version of the map comes to a brick's loop.
    pub(crate) fn adopt(&mut self, at: usize) {
        let brick = self.brick(at);
        brick.adopted += 1;
        let version = usize::from(brick.adopted);
        let map = self.state.plane.maps[version];
        self.adopt_map(at, map);
    }

    /// What the map says now.
    pub(crate) fn adopt_map(&mut self, at: usize, map: Map) {
        let me = self.state.replica(at);
        let role = map.group.role_of(me, self.rules);
        let change = map.change;
        let is_fenced = |change: &Change| self.is_me(change.fenced[at], me);
        let stops = change.filter(is_fenced);
        let accepts = change.filter(|change| self.leads_in(&change.group, me));
        if role == Role::None && stops.is_none() && accepts.is_none() {
            self.forget(at, map.group.view);
            return;
        }
        let brick = self.brick(at);
        if map.group.view < brick.view {
            return;
        }
        brick.is_handing_over = change.is_some() && accepts.is_none();
        if let Some(change) = stops
            && change.group.view > brick.stopped
        {
            // Rules `a proposed view only stops` and `acknowledged views are remembered`.
            brick.stopped = change.group.view;
            self.leave(at);
        }
        if let Some(change) = accepts
            && change.group.view > self.state.bricks[at].accepted
        {
            // Rule `a primary accepts its view`: from here on no vote and no commit in an older view.
            if !self.rules.lack(Rule::AcceptingStops) {
                self.brick(at).accepted = change.group.view;
                self.leave(at);
            }
            self.say_accepted(at);
        }
        if map.group.view > self.state.bricks[at].view {
            self.enter(at, &map.group, role);
        } else {
            self.stay(at, &map.group, role);
        }
        self.settle(at);
    }

    /// Whether that life of this brick is meant.
    fn is_me(&self, life: u8, me: Replica) -> bool {
        // Rule `members name an incarnation`.
        life == me.life || (life > 0 && self.rules.lack(Rule::ViewsNameLives))
    }

    fn leads_in(&self, group: &Group, me: Replica) -> bool {
        group.role_of(me, self.rules) == Role::Primary
    }

    /// The control plane hears that the primary-to-be accepts, once its log is synced.
    pub(crate) fn say_accepted(&mut self, at: usize) {
        let Some(change) = self.state.plane.map().change else {
            return;
        };
        let me = self.state.replica(at);
        let brick = &self.state.bricks[at];
        // Rule `a primary accepts its view`: what made it the choice must not get lost.
        let is_synced =
            brick.disk.synced == brick.disk.log.last() || self.rules.lack(Rule::AcceptingSyncs);
        let has_seen = brick.adopted >= change.version;
        if has_seen && is_synced && self.leads_in(&change.group, me) {
            self.state.plane.accepted = change.group.view;
        }
    }

    /// A newer view is effective.
    fn enter(&mut self, at: usize, group: &Group, role: Role) {
        self.leave(at);
        let brick = self.brick(at);
        brick.members = [Member::default(); BRICKS];
        brick.view = group.view;
        brick.role = role;
        brick.primary = group.primary().unwrap_or_default();
        brick.follow.begun = 0;
        if role != Role::Primary {
            self.join(at);
            return;
        }
        if brick.disk.log.last_view() > group.view {
            // The map is older than what was done here.
            brick.stopped = brick.stopped.max(brick.disk.log.last_view());
        } else if brick.is_current() {
            self.begin_view(at);
        }
        for (replica, role) in group.members().filter(|(replica, _)| replica.at() != at) {
            self.add_member(at, replica.at(), replica.life, role);
        }
    }

    /// The view is the same; learners may have come or gone.
    fn stay(&mut self, at: usize, group: &Group, role: Role) {
        if self.state.bricks[at].role != role {
            self.brick(at).role = role;
            self.leave(at);
            self.join(at);
        }
        if role != Role::Primary {
            return;
        }
        for to in 0..BRICKS {
            let place = group.places[to];
            let member = &mut self.brick(at).members[to];
            let is_same = place.role == Role::Learner && place.life == member.life;
            // Rule `learner votes before promotion`: a vote that is required stays so until a newer view says what
            // became of it.
            if member.life > 0 && member.is_learner && !is_same && !member.is_required {
                *member = Member::default();
            }
            if place.role == Role::Learner && member.life == 0 && to != at {
                self.add_member(at, to, place.life, place.role);
            }
        }
    }

    /// The group does not name this brick: what it held as a member goes.
    fn forget(&mut self, at: usize, view: u8) {
        if self.state.bricks[at].role == Role::None {
            return;
        }
        self.leave(at);
        let is_remembered = !self.rules.lack(Rule::ViewsAreRemembered);
        let brick = self.brick(at);
        // Rule `acknowledged views are remembered`: kept past the partition itself.
        brick.stopped = if is_remembered {
            brick.stopped.max(brick.view).max(view)
        } else {
            0
        };
        brick.accepted = if is_remembered { brick.accepted } else { 0 };
        brick.view = 0;
        brick.role = Role::None;
        brick.primary = Replica::default();
        brick.is_handing_over = false;
        brick.committed = 0;
        brick.disk.partial = None;
        brick.members = [Member::default(); BRICKS];
        brick.follow = Follow::default();
        brick.disk.log.cut(0);
        self.touch_log(at);
    }
}
