//! A partition becomes two: its primary comes to rest, and each half goes on from its log.
//!
//! In:  the catalog's word that a partition is to be split in a view, and later that it was. Out:
//!      [`Want::Split`] once nothing is pending; the halves, with what the whole had.
//!
//! Invariants (rule `splits and merges are bound to views`):
//! - From when the primary says that it is ready nothing is prepared in that view: what was in sync in it holds the
//!   same, to the last op, and all of it has committed.
//! - A half has the history of the whole: its ops and views go on from there, and what a replica may claim to hold
//!   of a half is what it could claim of the whole.
//! - The halves begin in a view of their own, as any view begins: so a vote or a read of the whole never counts for
//!   them.
//!
//! Not here: which record belongs to which half (`brick`), when to split (`metadata`, `control`).

use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::{Ready, Want};
use crate::slots::Slots;
use crate::work::Work;
use brickyard_types::{Instant, View};
use std::time::Duration;

/// Asks for the splits of partitions in which nothing is pending any more; repeated until the catalog answers.
pub(crate) fn ask_splits(
    partitions: &mut Slots,
    work: &mut Work,
    now: Instant,
    repeat: Duration,
    ready: &mut Ready,
) {
    let mut at = 0;
    while let Some(&slot) = work.pending_splits.get(at) {
        let it = partitions.get_mut(slot);
        let Some((it, pending_split)) = it.and_then(|it| it.place.pending_split.map(|of| (it, of)))
        else {
            work.pending_splits.swap_remove(at);
            continue;
        };
        at += 1;
        // Its first record says that all members have begun the view.
        let has_begun = it.log.last.0 == it.place.view && pending_split.view == it.place.view;
        let is_at_rest = it.leads() && has_begun && it.log.pending.is_empty();
        let asked = it.lead.split_asked;
        let is_early = asked.is_some_and(|asked| now - asked < repeat);
        if is_at_rest && !is_early {
            assert!(
                !it.status().accepts_writes,
                "writes after it has come to rest"
            );
            it.lead.split_asked = Some(now);
            ready.request(Want::Split {
                partition: it.id,
                view: pending_split.view,
                begun_at: pending_split.begun_at,
                last: it.log.last,
            });
        }
    }
}

/// The partition has come to rest in `view` and is no more. What is pending has committed if this brick's log has
/// begun that view, which is returned, and counts for nothing if not.
pub(crate) fn end_at_rest(
    it: &mut Partition,
    view: View,
    own: &mut OwnLog,
    ready: &mut Ready,
) -> bool {
    // A log that has begun the view: what it holds has committed, since at rest all that there was had. That is so
    // also if the brick has restarted since, and its log may be all that is left (rule `a restart cuts nothing`).
    let has_begun = it.log.last.0 == view;
    let holds_all = has_begun && it.log.partial.is_none() && !it.log.has_refused();
    if holds_all {
        it.commit(it.log.pending.len(), ready);
    } else {
        let committed = it.log.committed;
        it.cut(committed, ready);
        // Rule `a cut is a record`: or a restart would take what was pending for a part of what comes after.
        own.put_cut(it, committed, ready);
    }
    assert!(it.log.pending.is_empty(), "something is pending at rest");
    holds_all
}
