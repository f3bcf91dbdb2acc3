//! What a brick's log says of a partition after a restart.

use crate::history::{History, Run};
use crate::log::Log;
use crate::summary::Baseline;
use crate::{LogMark, PreparedRecord, Sequence};
use brickyard_types::{Op, View};
use std::collections::VecDeque;

/// A record that recovery found and that is not known to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuffixEntry<P> {
    /// The view in which it was prepared.
    pub view: View,
    /// Its number.
    pub op: Op,
    /// The batch of the own log that has it.
    pub mark: LogMark,
    /// What the reader of the log attached.
    pub payload: P,
}

/// What recovery found; a restart cuts nothing by itself (rule `a restart cuts nothing`).
#[derive(Clone, Debug)]
pub struct Restored<P = ()> {
    /// The history that the records belong to; 0: unknown, taken from the map.
    pub generation: u32,
    /// The baseline record: everything up to it is here. Default: the partition's beginning.
    pub baseline: Baseline,
    /// The highest op that the log shows to be committed (flag `COMMITTED`, `Cut`, `Baseline`). Above
    /// `last.op` only after a catch-up that was not finished: such ops are applied and count for nothing.
    pub committed: Op,
    /// The last record of the run of consecutive ops that begins at `baseline`.
    pub last: (View, Op),
    /// The entries above `committed` up to `last`, in order. Their marks must be ones
    /// that [`on_appended`](crate::Replicator::on_appended) was or will be told of, or 0 if recovery synced the log.
    pub suffix: VecDeque<SuffixEntry<P>>,
    /// Nothing is missing between `baseline` and `last`: no damage, no unsure tail, no unfinished catch-up.
    pub is_complete: bool,
    /// Every tombstone above this op is here (rule `tombstones reach down to the watermark`).
    pub watermark: Op,
    /// Which view's ops begin where; at least from `committed` on.
    pub history: Vec<Run>,
}

impl<P> Default for Restored<P> {
    fn default() -> Self {
        Self {
            generation: 0,
            baseline: Baseline::default(),
            committed: Op(0),
            last: (View(0), Op(0)),
            suffix: VecDeque::new(),
            is_complete: true,
            watermark: Op(0),
            history: Vec::new(),
        }
    }
}

impl Log {
    /// What recovery found.
    pub(crate) fn restore<P>(restored: &Restored<P>) -> Self {
        let mut log = Self::new();
        let summarizes_less = restored.committed > restored.last.1;
        let end = restored.last.1.max(restored.committed);
        log.history = History::new(&restored.history);
        log.generation = restored.generation;
        log.watermark = restored.watermark;
        log.committed = restored.committed;
        let view = if summarizes_less {
            log.history.view_at(end).unwrap_or(restored.last.0)
        } else {
            restored.last.0
        };
        log.last = (view, end);
        // Without a history at least the end is known.
        if log.history.runs().is_empty() && end > Op(0) {
            let suffix = restored.suffix.iter().map(|entry| (entry.view, entry.op));
            for (view, op) in suffix.chain([log.last]) {
                log.history.push(view, op);
            }
        }
        if !restored.is_complete || summarizes_less {
            log.become_partial(restored.last.1);
            if let Some(summary) = &mut log.partial {
                summary.last = restored.last;
            }
        }
        if !summarizes_less {
            let mut op = restored.committed;
            for found in &restored.suffix {
                op = op.next();
                assert_eq!(found.op, op, "the suffix has gaps");
                log.note(found.mark);
                log.pending.push_back(PreparedRecord {
                    view: found.view,
                    op,
                    mark: found.mark,
                    sequence: Sequence(0),
                });
            }
            assert_eq!(op, end, "the suffix does not reach the end");
            log.restored = op;
        }
        // The log may have records above what is known here, from before the restart.
        log.is_cut_due = true;
        log
    }
}
