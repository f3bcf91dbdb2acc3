//! What always has to hold.

use crate::state::{BRICKS, State};
use crate::{Rule, Rules};

/// Each claim, its name first.
pub(crate) type Claim = (&'static str, fn(&State, Rules) -> bool);

/// All of them.
pub(crate) const CLAIMS: [Claim; 6] = [
    ("nothing that was acknowledged is lost", |state, _| {
        nothing_is_lost(state)
    }),
    ("reads are linearizable", reads_are_linearizable),
    ("one primary commits in a view", |state, _| {
        !state.past.has_two_primaries
    }),
    ("what has committed is the same everywhere", |state, _| {
        !state.past.has_forked
    }),
    ("commits never go back", |state, _| {
        !state.past.has_gone_back
    }),
    ("in-sync members hold what has committed", |state, _| {
        members_hold_everything(state)
    }),
];

/// The primary of the newest view has all writes that were acknowledged.
fn nothing_is_lost(state: &State) -> bool {
    let group = state.plane.map().group;
    let Some(replica) = group.primary() else {
        return true;
    };
    let brick = &state.bricks[replica.at()];
    let has_entered = brick.is_up && brick.life == replica.life && brick.view == group.view;
    !has_entered || writes(state).all(|(op, write)| brick.disk.log.op_of(write) == Some(op))
}

/// Whoever answers reads has every write that was acknowledged, or knows that it is under way and waits.
///
/// Writes are of a key each, so that a read that waits for one of them does not hide what it lacks of another;
/// and linearizability is a matter of each key. A read that begins now began after every acknowledgement so far:
/// nobody is asked to answer an older question.
fn reads_are_linearizable(state: &State, rules: Rules) -> bool {
    let waits_inherited = !rules.lack(Rule::InheritedReadsWait);
    let readers = state.bricks.iter().filter(|brick| brick.serves_reads());
    for brick in readers {
        for (_, write) in writes(state) {
            let Some(op) = brick.disk.log.op_of(write) else {
                return false;
            };
            let is_applied = op <= brick.committed;
            let is_inherited = brick.disk.log.view_at(op) < Some(brick.view);
            let waits = match brick.role {
                // Rule `uncommitted ops are voted for again`.
                crate::map::Role::Primary => is_inherited && waits_inherited,
                _ => true,
            };
            if !is_applied && !waits {
                return false;
            }
        }
    }
    true
}

/// Who is in sync in the newest view holds everything, in its place.
fn members_hold_everything(state: &State) -> bool {
    let group = state.plane.map().group;
    let mut members = group
        .in_sync()
        .map(|replica| (replica, &state.bricks[replica.at()]));
    members.all(|(replica, brick)| {
        let is_there = brick.is_up && brick.life == replica.life;
        let has = |(op, write)| brick.disk.log.op_of(write) == Some(op);
        !is_there || brick.role == crate::map::Role::None || writes(state).all(has)
    })
}

/// The writes that were acknowledged, and their ops.
fn writes(state: &State) -> impl Iterator<Item = (u8, u8)> + '_ {
    let outcome = state.past.outcome.iter();
    outcome
        .filter(|(_, entry)| entry.write > 0)
        .map(|(op, entry)| (op, entry.write))
}

const _: () = assert!(BRICKS <= 8, "holders are bits of a byte");
