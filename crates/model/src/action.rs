//! What can happen next.

use crate::map::Role;
use crate::scope::Scope;
use crate::state::{BRICKS, State};
use crate::{Rule, Rules};
use std::fmt;

/// One step. docs/protocol.md says which functions of the product each of them stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A client's write is prepared.
    Write(u8),
    /// The next frame of a primary reaches a member: from, to.
    Deliver(u8, u8),
    /// The next answer of a member reaches the primary: the primary, the member.
    Answer(u8, u8),
    /// The brick's log is synced.
    Sync(u8),
    /// The brick adopts the next version of the map.
    Adopt(u8),
    /// The control plane proposes a view of these in-sync members, as bits, led by one of them.
    Propose(u8, u8),
    /// The same, decided by an older version of the map, whose group that was.
    ProposeLate(u8, u8, u8),
    /// The proposed view takes effect.
    Settle,
    /// A brick is to catch up.
    Learn(u8),
    /// The control plane answers a primary that asks for a promotion.
    Promote,
    /// Nobody who held everything lives on: a view of one who restarted.
    BeginAgain,
    /// The process is killed.
    Kill(u8),
    /// Its machine loses power.
    PowerCut(u8),
    /// The brick comes back, in another life.
    Restart(u8),
    /// The brick's lease runs out.
    Lapse(u8),
    /// The brick is granted another one.
    Grant(u8),
    /// After a pause the brick looks at its clock.
    Wake(u8),
    /// A stream breaks and is connected again: from, to.
    Reconnect(u8, u8),
    /// Another node leads the control plane.
    ChangeLeader,
}

/// A letter for each brick.
const fn name(brick: u8) -> char {
    (b'A' + brick) as char
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = |bits: u8| -> String {
            let all = (0..BRICKS as u8).filter(|at| bits & 1 << at != 0);
            all.map(name).collect()
        };
        match *self {
            Self::Write(at) => write!(f, "{} prepares a write", name(at)),
            Self::Deliver(from, to) => write!(f, "{} hears of {}", name(to), name(from)),
            Self::Answer(from, to) => write!(f, "{} has {}'s answer", name(from), name(to)),
            Self::Sync(at) => write!(f, "{} syncs its log", name(at)),
            Self::Adopt(at) => write!(f, "{} adopts the next map", name(at)),
            Self::Propose(bits, primary) => {
                write!(
                    f,
                    "{{{}}} is proposed, led by {}",
                    members(bits),
                    name(primary)
                )
            }
            Self::ProposeLate(version, bits, primary) => {
                let (members, primary) = (members(bits), name(primary));
                write!(
                    f,
                    "{{{members}}}, led by {primary}, is proposed for map {version}"
                )
            }
            Self::Settle => write!(f, "the proposed view takes effect"),
            Self::Learn(at) => write!(f, "{} is to learn", name(at)),
            Self::Promote => write!(f, "the promotion is proposed"),
            Self::BeginAgain => write!(f, "a view of one that restarted is proposed"),
            Self::Kill(at) => write!(f, "{} is killed", name(at)),
            Self::PowerCut(at) => write!(f, "{} loses power", name(at)),
            Self::Restart(at) => write!(f, "{} restarts", name(at)),
            Self::Lapse(at) => write!(f, "{}'s lease runs out", name(at)),
            Self::Grant(at) => write!(f, "{} is granted a lease", name(at)),
            Self::Wake(at) => write!(f, "{} looks at its clock", name(at)),
            Self::Reconnect(from, to) => {
                write!(
                    f,
                    "the stream from {} to {} breaks, and is back",
                    name(from),
                    name(to)
                )
            }
            Self::ChangeLeader => write!(f, "the control plane has another leader"),
        }
    }
}

/// Whatever can happen in a state, as far as that can be told without doing it.
pub(crate) fn all(state: &State, scope: &Scope, rules: Rules, actions: &mut Vec<Action>) {
    for (at, brick) in (0u8..).zip(&state.bricks) {
        of_brick(state, scope, at, actions);
        for to in 0..BRICKS as u8 {
            let stream = state.stream(at.into(), to.into());
            if !stream.down.is_empty() && state.bricks[usize::from(to)].is_up {
                actions.push(Action::Deliver(at, to));
            }
            if !stream.up.is_empty() && brick.is_up {
                actions.push(Action::Answer(at, to));
            }
            if state.left.reconnects > 0 && stream.is_connected {
                actions.push(Action::Reconnect(at, to));
            }
        }
    }
    of_plane(state, scope, rules, actions);
}

fn of_brick(state: &State, scope: &Scope, at: u8, actions: &mut Vec<Action>) {
    let brick = &state.bricks[usize::from(at)];
    let left = &state.left;
    let may_fail = scope.faulty & 1 << at != 0;
    if !brick.is_up {
        if left.restarts > 0 {
            actions.push(Action::Restart(at));
        }
        return;
    }
    if left.writes > 0 && brick.leads() && brick.is_leased() && !brick.is_handing_over {
        actions.push(Action::Write(at));
    }
    if scope.has_power_cuts() && brick.disk.synced < brick.disk.log.last() {
        actions.push(Action::Sync(at));
    }
    if brick.adopted < state.plane.version() {
        actions.push(Action::Adopt(at));
    }
    if left.kills > 0 && may_fail {
        actions.push(Action::Kill(at));
    }
    if left.power_cuts > 0 && may_fail {
        actions.push(Action::PowerCut(at));
    }
    if left.lapses > 0 && may_fail && brick.lease.names.is_some() {
        actions.push(Action::Lapse(at));
    }
    if left.grants > 0 && brick.lease.names.is_none() {
        actions.push(Action::Grant(at));
    }
    if brick.lease.is_late {
        actions.push(Action::Wake(at));
    }
}

fn of_plane(state: &State, scope: &Scope, rules: Rules, actions: &mut Vec<Action>) {
    let map = state.plane.map();
    let left = &state.left;
    if map.change.is_some() {
        actions.push(Action::Settle);
    }
    if left.views > 0 {
        actions.push(Action::BeginAgain);
        let members = |group: crate::map::Group| {
            let replicas = group.in_sync().map(|replica| 1u8 << replica.brick);
            replicas.sum::<u8>()
        };
        let mut propose = |in_sync: u8, action: &dyn Fn(u8, u8) -> Action| {
            for bits in (1..1u8 << BRICKS).filter(|bits| bits & !in_sync == 0) {
                for primary in (0..BRICKS as u8).filter(|at| bits & 1 << at != 0) {
                    if scope.proposes(bits, primary) {
                        actions.push(action(bits, primary));
                    }
                }
            }
        };
        propose(members(map.group), &Action::Propose);
        // Rule `a proposed view only stops`: such a proposal is refused, so it need not be tried.
        if rules.lack(Rule::ProposalsNameTheirBase) {
            for (version, old) in (0u8..).zip(&state.plane.maps) {
                if old.group.view < map.group.view {
                    let late = |bits, primary| Action::ProposeLate(version, bits, primary);
                    propose(members(old.group), &late);
                }
            }
        }
    }
    if left.promotions > 0 && state.plane.ask.is_some() {
        actions.push(Action::Promote);
    }
    if left.learners > 0 && map.change.is_none() {
        for (at, brick) in (0u8..).zip(&state.bricks) {
            let place = map.group.places[usize::from(at)];
            let is_member = place.role != Role::None && place.life == brick.life;
            if brick.is_up && !is_member && !place.role.is_in_sync() {
                actions.push(Action::Learn(at));
            }
        }
    }
    if left.leaders > 0 && rules.lack(Rule::LeadersAskAfresh) && map.change.is_some() {
        actions.push(Action::ChangeLeader);
    }
}
