//! Intents that nobody has resolved: their coordinator is gone, or a message was lost.
//!
//! In:  keys with intents that were met some time ago. Out: the same keys with values.
//!
//! ```text
//!  what intent is it?  ── undecided ──►  ask its anchor's partition  ── it goes on: later
//!          │                                     └─ committed, aborted ──►  the key's intent is resolved
//!          └─ decided: this is the anchor  ──►  its other keys are resolved, then the anchor itself
//! ```
//! Where the anchor's table was dropped nobody can be asked, and nobody was told that the transaction has committed (rule
//! `two tables are answered for last`): the intent is taken back. Where another key's table was dropped that key is gone with it.
//!
//! Invariant (rule `an anchor decides`): an anchor's intent goes only when all others of its transaction have gone.

use super::asking::{Asker, ask_all, by_partition, named_table, resolve};
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
            anchor_table: None,
            stage: Stage::Looking,
            missing: 0,
            has_failed: false,
        };
        let number = core.requests.distributed.number();
        let id = core.requests.distributed.id();
        ask_one(core, number, recovery, table, (id, Bytes(key), Ask::Look));
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

fn ask_for(core: &mut Core, number: u64, mut recovery: Recovery, parts: Vec<(TableId, Part)>) {
    assert!(!parts.is_empty(), "nobody is asked, and nobody answers");
    recovery.missing = parts.len();
    let asker = Asker {
        number,
        round: recovery.stage.round(),
        deadline: core.deadline(),
    };
    core.requests.distributed.keep_recovery(number, recovery);
    ask_all(core, &asker, parts);
}

fn ask_one(
    core: &mut Core,
    number: u64,
    recovery: Recovery,
    table: TableId,
    (id, anchor, ask): (TransactionId, Bytes, Ask),
) {
    let age = age_of(core, id);
    let is_of_key = matches!(ask, Ask::Resolve { .. });
    let part = Part {
        id,
        age,
        anchor,
        ask,
        anchor_table: recovery.anchor_table.filter(|_| is_of_key),
    };
    ask_for(core, number, recovery, vec![(table, part)]);
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
    let is_refused = matches!(
        (&recovery.stage, &answer),
        (_, Err(_) | Ok(Answer::Misplaced)) | (Stage::Resolving(_), Ok(Answer::Ended { .. }))
    );
    recovery.has_failed |= is_refused;
    if recovery.missing > 0 {
        return core.requests.distributed.keep_recovery(number, recovery);
    }
    if recovery.has_failed {
        let (table, key) = (recovery.table, &recovery.key);
        return core.requests.distributed.met.note(table, key, core.now);
    }
    go_on_recovering(core, number, recovery, answer.ok());
}

/// Of what transaction an intent is, as a partition has told.
struct Found {
    id: TransactionId,
    anchor: (TableId, Bytes),
    /// It is the anchor's: the other keys.
    decided: Option<Vec<(TableId, Vec<u8>)>>,
}

impl Found {
    /// Reads the answer of a key of that table; `None`: it has no intent.
    fn of(answer: Option<Answer>, own: TableId) -> Option<Self> {
        match answer? {
            Answer::Intent {
                id,
                anchor,
                decided,
            } => Some(Self {
                id,
                anchor: (own, anchor),
                decided: decided.map(|all| all.into_iter().map(|it| (own, it.0)).collect()),
            }),
            Answer::IntentAcross {
                id,
                anchor,
                decided,
            } => Some(Self {
                id,
                anchor,
                decided: decided.map(|all| all.into_iter().map(|(of, it)| (of, it.0)).collect()),
            }),
            _ => None,
        }
    }
}

fn go_on_recovering(core: &mut Core, number: u64, recovery: Recovery, answer: Option<Answer>) {
    let own = vec![recovery.key.clone()];
    match (&recovery.stage, answer) {
        (Stage::Looking, answer) => {
            if let Some(found) = Found::of(answer, recovery.table) {
                look_into(core, number, recovery, found);
            }
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
        (Stage::Closing, _) => {}
    }
}

/// An intent has stayed: its transaction is asked after, or ended.
fn look_into(core: &mut Core, number: u64, mut recovery: Recovery, found: Found) {
    let Found {
        id,
        anchor: (anchor_table, anchor),
        decided,
    } = found;
    let own = vec![recovery.key.clone()];
    recovery.anchor_table = named_table(anchor_table, recovery.table);
    let Some(others) = decided else {
        if core.tables.is_dropped(anchor_table) {
            core.stats().distributed.recovered.add(1);
            return close_recovery(core, number, id, (own, false), recovery);
        }
        recovery.stage = Stage::Asking(id);
        let (table, ask) = (anchor_table, Ask::Outcome);
        return ask_one(core, number, recovery, table, (id, anchor, ask));
    };
    let others = others.into_iter();
    let there: Vec<_> = others
        .filter(|(table, _)| !core.tables.is_dropped(*table))
        .collect();
    if there.is_empty() {
        return close_recovery(core, number, id, (own, true), recovery);
    }
    recovery.stage = Stage::Resolving(id);
    let age = age_of(core, id);
    let portions = by_partition(core, there).into_iter();
    let parts = portions.map(|portion| {
        let part = Part {
            id,
            age,
            anchor: anchor.clone(),
            ask: resolve(&portion.keys, true),
            anchor_table: named_table(recovery.table, portion.table),
        };
        (portion.table, part)
    });
    let parts = parts.collect();
    ask_for(core, number, recovery, parts);
}

fn close_recovery(
    core: &mut Core,
    number: u64,
    id: TransactionId,
    (keys, is_committed): (Vec<Vec<u8>>, bool),
    mut recovery: Recovery,
) {
    recovery.stage = Stage::Closing;
    let (table, anchor) = (recovery.table, Bytes(recovery.key.clone()));
    let ask = resolve(&keys, is_committed);
    ask_one(core, number, recovery, table, (id, anchor, ask));
}
