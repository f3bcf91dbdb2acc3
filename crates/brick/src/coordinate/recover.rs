//! Intents that nobody has resolved: their coordinator is gone, or a message was lost.
//!
//! In:  keys with intents that were met some time ago. Out: the same keys with values.
//!
//! ```text
//!  what intent is it?  ── undecided ──►  ask its anchor's partition  ── it goes on: later
//!          │                                     └─ committed, aborted ──►  the key's intent is resolved
//!          └─ decided: this is the anchor  ──►  its other keys are resolved, then the anchor itself
//! ```
//!
//! Invariant (rule `an anchor decides`): an anchor's intent goes only when all others of its transaction have gone.

use super::asking::{Asker, ask_all, by_partition, resolve};
use crate::core::Core;
use crate::distributed::part::{Answer, Ask, Bytes, Part, TransactionId};
use crate::distributed::{Age, Recovery, Stage};
use brickyard_types::TableId;

/// Looks into intents that were met some time ago.
pub(super) fn look_into_intents(core: &mut Core) {
    for (table, key) in core.requests.distributed.met.take_old(core.now) {
        let may_look = core.requests.distributed.may_look_into(table, &key);
        if !may_look || !leads(core, table, &key) {
            continue;
        }
        let recovery = Recovery {
            table,
            key: key.clone(),
            stage: Stage::Looking,
            missing: 0,
            has_failed: false,
        };
        let number = core.requests.distributed.number();
        let id = core.requests.distributed.id();
        ask_one(core, number, recovery, (id, Bytes(key), Ask::Look));
    }
}

/// Whether this brick is the primary of a key.
fn leads(core: &Core, table: TableId, key: &[u8]) -> bool {
    let index = core.tables.index_of(table);
    let found = index.and_then(|index| {
        let leaf = core.locate(index, key)?.leaf;
        core.table(index)?.partitions.get(leaf as usize)?.as_ref()
    });
    found.is_some_and(|partition| partition.is_primary())
}

/// It reserves nothing, so it is as old as now.
fn age_of(core: &Core, id: TransactionId) -> Age {
    Age {
        since: core.unix.0,
        coordinator: id.coordinator,
        number: id.number,
    }
}

fn ask_for(core: &mut Core, number: u64, mut recovery: Recovery, parts: Vec<Part>) {
    assert!(!parts.is_empty(), "nobody is asked, and nobody answers");
    recovery.missing = parts.len();
    let asker = Asker {
        number,
        round: recovery.stage.round(),
        table: recovery.table,
        deadline: core.deadline(),
    };
    core.requests.distributed.keep_recovery(number, recovery);
    ask_all(core, &asker, parts);
}

fn ask_one(
    core: &mut Core,
    number: u64,
    recovery: Recovery,
    (id, anchor, ask): (TransactionId, Bytes, Ask),
) {
    let age = age_of(core, id);
    let part = Part {
        id,
        age,
        anchor,
        ask,
    };
    ask_for(core, number, recovery, vec![part]);
}

/// An answer for a recovery, or for what has ended since.
pub(super) fn on_recovery_answer(core: &mut Core, number: u64, round: u64, bytes: &[u8]) {
    let Some(mut recovery) = core.requests.distributed.take_recovery(number) else {
        return;
    };
    if recovery.stage.round() != round {
        return core.requests.distributed.keep_recovery(number, recovery);
    }
    let answer = Answer::decode(bytes);
    assert!(recovery.missing > 0, "an answer to nothing: {recovery:?}");
    recovery.missing -= 1;
    recovery.has_failed |= answer.is_err() || answer == Ok(Answer::Misplaced);
    if recovery.missing > 0 {
        return core.requests.distributed.keep_recovery(number, recovery);
    }
    if recovery.has_failed {
        let (table, key) = (recovery.table, &recovery.key);
        return core.requests.distributed.met.note(table, key, core.now);
    }
    go_on_recovering(core, number, recovery, answer.ok());
}

fn go_on_recovering(core: &mut Core, number: u64, mut recovery: Recovery, answer: Option<Answer>) {
    let own = vec![recovery.key.clone()];
    match (&recovery.stage, answer) {
        (
            Stage::Looking,
            Some(Answer::Intent {
                id,
                anchor,
                decided: None,
            }),
        ) => {
            recovery.stage = Stage::Asking(id);
            ask_one(core, number, recovery, (id, anchor, Ask::Outcome));
        }
        (
            Stage::Looking,
            Some(Answer::Intent {
                id,
                anchor,
                decided: Some(keys),
            }),
        ) => {
            recovery.stage = Stage::Resolving(id);
            let keys = keys.into_iter().map(|key| key.0).collect();
            let groups = by_partition(core, recovery.table, keys);
            let age = age_of(core, id);
            let part = |keys: &Vec<Vec<u8>>| Part {
                id,
                age,
                anchor: anchor.clone(),
                ask: resolve(keys, true),
            };
            let parts = groups.iter().map(part).collect();
            ask_for(core, number, recovery, parts);
        }
        (Stage::Asking(id), Some(Answer::Ended { is_committed })) => {
            let id = *id;
            core.stats().distributed.recovered.add(1);
            close_recovery(core, number, id, (own, is_committed), recovery);
        }
        (Stage::Resolving(id), _) => {
            let id = *id;
            close_recovery(core, number, id, (own, true), recovery);
        }
        // It goes on, so it is looked at again; or all is done, here or by somebody else.
        (Stage::Asking(_), _) => {
            let (table, key) = (recovery.table, &recovery.key);
            core.requests.distributed.met.note(table, key, core.now);
        }
        (Stage::Looking | Stage::Closing, _) => {}
    }
}

fn close_recovery(
    core: &mut Core,
    number: u64,
    id: TransactionId,
    (keys, is_committed): (Vec<Vec<u8>>, bool),
    mut recovery: Recovery,
) {
    recovery.stage = Stage::Closing;
    let anchor = Bytes(recovery.key.clone());
    let ask = resolve(&keys, is_committed);
    ask_one(core, number, recovery, (id, anchor, ask));
}
