//! The control plane: proposing views, putting them into effect, learners and promotions, full restarts.

use crate::map::{Change, Group, Map, Place, Plane, Role};
use crate::scope::{Durability, Scope};
use crate::state::{BRICKS, Brick, Left, Past};
use crate::{Replica, Rule, Rules};

/// Who decides: it sees the bricks, and changes none of them.
pub(crate) struct Leader<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) rules: Rules,
    pub(crate) bricks: &'a [Brick; BRICKS],
    pub(crate) plane: &'a mut Plane,
    pub(crate) past: &'a mut Past,
    pub(crate) left: &'a mut Left,
}

impl Leader<'_> {
    const fn replica(&self, at: usize) -> Replica {
        Replica::new(at, self.bricks[at].life)
    }

    /// A view of these members is proposed, as the map stands or as it stood in an older version.
    pub(crate) fn propose(&mut self, version: Option<u8>, bits: u8, primary: u8) -> bool {
        let map = self.plane.map();
        let base = match version {
            Some(version) => self.plane.maps[usize::from(version)].group,
            None => map.group,
        };
        let mut group = Group {
            view: map.next_view(),
            places: map.group.places,
        };
        for (at, place) in group.places.iter_mut().enumerate() {
            if bits & 1 << at != 0 {
                let life = base.places[at].life;
                // Rule `members name an incarnation`: a brick that restarted is somebody else.
                if !base.places[at].role.is_in_sync() || !self.is_current(at, life) {
                    return false;
                }
                let role = if at == usize::from(primary) {
                    Role::Primary
                } else {
                    Role::Backup
                };
                *place = Place { role, life };
            } else if place.role.is_in_sync() {
                *place = Place::default();
            }
        }
        if map.change.is_none() && group.places == map.group.places {
            return false;
        }
        self.left.views -= 1;
        self.change(map, group);
        true
    }

    fn is_current(&self, at: usize, life: u8) -> bool {
        self.rules.lack(Rule::ViewsNameLives) || self.plane.is_current(Replica::new(at, life))
    }

    /// The map has a change under way.
    fn change(&mut self, map: Map, group: Group) {
        let plane = &mut *self.plane;
        let change = Change {
            group,
            fenced: map.fenced_by(&group, self.rules),
            version: plane.version() + 1,
        };
        plane.accepted = 0;
        plane.fears_nobody = false;
        plane.decide(Map {
            group: map.group,
            change: Some(change),
        });
        // Rule `a proposed view only stops`: committed by the control plane is not in effect.
        if self.rules.lack(Rule::ViewsTakeTwoSteps) {
            self.put_into_effect(&change);
        }
    }

    /// The proposed view takes effect, if it may.
    pub(crate) fn settle_change(&mut self) -> bool {
        let Some(change) = self.plane.map().change else {
            return false;
        };
        let is_due = self.is_due(&change);
        if is_due {
            self.put_into_effect(&change);
        }
        is_due
    }

    fn is_due(&self, change: &Change) -> bool {
        let plane = &*self.plane;
        let Some(primary) = change.group.primary() else {
            return false;
        };
        let mut fenced = change.fenced.iter().enumerate();
        let is_fenced = fenced.all(|(at, life)| self.is_fenced(at, *life, change.version));
        // Rule `a primary accepts its view`: its primary has accepted it, in the life that was named.
        let is_accepted =
            plane.accepted == change.group.view || self.rules.lack(Rule::PrimariesAccept);
        is_fenced && is_accepted && self.is_current(primary.at(), primary.life)
    }

    /// Whether a member certainly does nothing any more in the view that it is taken out of.
    fn is_fenced(&self, at: usize, life: u8, version: u8) -> bool {
        let brick = &self.bricks[at];
        let is_proven_dead = self.plane.lives[at] > life && !self.rules.lack(Rule::ViewsNameLives);
        let has_stopped = brick.is_up && brick.life == life && brick.adopted >= version;
        let has_run_out = brick.lease.names.is_none() || self.plane.fears_nobody;
        life == 0
            || is_proven_dead
            || has_stopped
            || has_run_out
            // Rule `grants count for adopted maps`: only the brick's own loop acknowledges.
            || self.rules.lack(Rule::TheLoopAcknowledges)
    }

    fn put_into_effect(&mut self, change: &Change) {
        let plane = &mut *self.plane;
        plane.accepted = 0;
        plane.fears_nobody = false;
        // Rule `learner votes before promotion`: what was asked for in a view that is over is answered by the newer
        // one.
        if !self.rules.lack(Rule::PromotionsNameViews) {
            plane.ask = None;
        }
        plane.decide(Map {
            group: change.group,
            change: None,
        });
        for replica in change.group.in_sync() {
            self.hold(replica.at());
        }
    }

    /// Whatever this brick has of what was acknowledged is in its keeping from now on.
    fn hold(&mut self, at: usize) {
        let log = self.bricks[at].disk.log;
        let past = &mut *self.past;
        let outcome = past.outcome;
        for (op, entry) in outcome.iter() {
            let held = log.get(op).map(|it| (it.view, it.write));
            if held == Some((entry.view, entry.write)) {
                past.holders[usize::from(op) - 1] |= 1 << at;
            }
        }
    }

    /// A brick that is up and no member is to catch up; the view stays.
    pub(crate) fn learn(&mut self, at: usize) {
        self.left.learners -= 1;
        let mut map = self.plane.map();
        map.group.places[at] = Place {
            role: Role::Learner,
            life: self.bricks[at].life,
        };
        self.plane.decide(map);
    }

    /// What a primary asked for is proposed, if it still holds.
    pub(crate) fn promote(&mut self) -> bool {
        let map = self.plane.map();
        let Some((view, replica)) = self.plane.ask else {
            return false;
        };
        let is_of_now = view == map.group.view || self.rules.lack(Rule::PromotionsNameViews);
        let place = map.group.places[replica.at()];
        let is_learner = place.role == Role::Learner && place.life == replica.life;
        let is_current = self.plane.is_current(replica);
        // Rule `members name an incarnation`: a learner that restarted is not the one that caught up.
        let is_any_life = self.rules.lack(Rule::PromotionsNameLives);
        if map.change.is_some() || !is_of_now || !(is_any_life || (is_learner && is_current)) {
            return false;
        }
        if place.role.is_in_sync() {
            return false;
        }
        let mut group = Group {
            view: map.next_view(),
            places: map.group.places,
        };
        let life = if is_any_life {
            self.plane.lives[replica.at()]
        } else {
            replica.life
        };
        group.places[replica.at()] = Place {
            role: Role::Backup,
            life,
        };
        self.left.promotions -= 1;
        self.change(map, group);
        true
    }

    /// All in-sync members of the last effective view are gone: whose log goes on?
    pub(crate) fn begin_again(&mut self) -> bool {
        let map = self.plane.map();
        let is_live = |replica: Replica| {
            let brick = &self.bricks[replica.at()];
            self.plane.is_current(replica) && brick.lease.names.is_some()
        };
        if map.group.in_sync().any(is_live) {
            return false;
        }
        let is_memory = self.scope.durability == Durability::Memory;
        let is_lost = is_memory && !self.rules.lack(Rule::MemoryIsDeclaredLost);
        let chosen = if is_lost {
            self.declare_lost(&map)
        } else {
            self.choose_log(&map)
        };
        let Some(chosen) = chosen else {
            return false;
        };
        let is_under_way = map.change.and_then(|change| change.group.primary());
        if is_under_way == Some(chosen) {
            return false;
        }
        let mut places = [Place::default(); BRICKS];
        places[chosen.at()] = Place {
            role: Role::Primary,
            life: chosen.life,
        };
        let group = Group {
            view: map.next_view(),
            places,
        };
        self.left.views -= 1;
        self.plane.is_lost |= is_lost;
        if is_lost {
            self.past.forget(0);
        }
        self.change(map, group);
        true
    }

    /// The member whose log goes on.
    fn choose_log(&self, map: &Map) -> Option<Replica> {
        let mut is_all = true;
        let mut is_enough = false;
        let mut best: Option<((u8, u8), Replica)> = None;
        for former in map.group.in_sync() {
            let at = former.at();
            let brick = &self.bricks[at];
            let replica = self.replica(at);
            if replica.life <= former.life || !brick.is_up {
                is_all = false;
                continue;
            }
            // Rule `a restart cuts nothing`: the highest (view, op) among complete logs.
            if brick.disk.partial.is_some() {
                continue;
            }
            let rank = ((brick.disk.log.last_view(), brick.disk.log.last()), replica);
            let is_better = best.is_none_or(|best| rank.0 > best.0);
            best = if is_better { Some(rank) } else { best };
            is_enough |= match self.scope.durability {
                Durability::Memory => false,
                Durability::Log => brick.disk.is_tail_sure,
                Durability::Fsync => true,
            };
        }
        // Rule `a restart cuts nothing`: one log is enough only if it cannot have lost its end.
        best.filter(|_| is_enough || is_all)
            .map(|(_, replica)| replica)
    }

    /// Who begins with nothing, once it is certain that nothing is left (rule `lost memory begins a generation`).
    fn declare_lost(&self, map: &Map) -> Option<Replica> {
        if map
            .group
            .in_sync()
            .any(|replica| self.plane.is_current(replica))
        {
            return None;
        }
        let mut present = map.group.in_sync().map(|former| self.replica(former.at()));
        present.find(|replica| self.bricks[replica.at()].is_up)
    }
}
