//! Copies from a brick whose log is damaged: out of memory, as far as everything is there.
//!
//! In:  learners that were served by a walk that met damage. Out: everything that they are to have, by the index;
//!      or, where a value was in the damaged part of the log alone, the wish that another replica leads.
//!
//! Invariants:
//! - Which deletions were in the damaged part is not known: a difference is not enough, and the learner begins
//!   anew with everything (rule `tombstones reach down to the watermark`).
//! - A copy ends only if every key that the index has is among what was copied.

use super::{SCAN_STEP, Wanted};
use crate::effect::{ControlRequest, Effect};
use crate::outside::Outside;
use crate::replica::Replicas;
use crate::tables::Tables;
use brickyard_table::{ScanPosition, ValueRef};
use brickyard_types::{Instant, PartitionId, SegmentId};
use std::collections::BTreeSet;
use std::time::Duration;

/// How soon it is looked again whether a value that cannot be read is still wanted.
const PAUSE: Duration = Duration::from_secs(1);

/// How it stands with a learner that was served by a log with damage.
#[derive(Debug)]
pub(super) struct Damaged {
    /// Where the damage is.
    segments: BTreeSet<SegmentId>,
    search: Search,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// The index is being looked through.
    Partly,
    /// Nothing that it has is in the damaged part alone.
    Whole,
    /// Something is; looked through again then.
    Lost { until: Instant },
}

impl Wanted {
    /// The walk for this learner met damage in these segments.
    pub(super) fn after_damage(self, segments: BTreeSet<SegmentId>) -> Self {
        assert!(!segments.is_empty(), "a walk without damage");
        assert!(
            self.after.is_none(),
            "a difference is copied from a damaged log"
        );
        Self {
            scan: ScanPosition::START,
            damaged: Some(Damaged {
                segments,
                search: Search::Partly,
            }),
            ..self
        }
    }

    /// Whether copies cannot be made now, since it is not sure that they would be all; looks further if so.
    pub(super) fn is_held_up(
        &mut self,
        tables: &Tables,
        replicas: &Replicas,
        outside: &mut Outside<'_>,
    ) -> bool {
        let Some(damaged) = &mut self.damaged else {
            return false;
        };
        let is_again = match damaged.search {
            Search::Whole => return false,
            Search::Lost { until } if outside.now < until => return true,
            Search::Lost { .. } => true,
            Search::Partly => false,
        };
        let (partition, learner) = (self.partition, self.learner);
        let seen = search(tables, partition, self.scan, &damaged.segments);
        (damaged.search, self.scan) = match seen {
            Seen::Sound(Some(next)) => (Search::Partly, next),
            Seen::Sound(None) => (Search::Whole, ScanPosition::START),
            Seen::Lost => {
                let until = outside.now + PAUSE;
                (Search::Lost { until }, ScanPosition::START)
            }
        };
        if seen == Seen::Lost {
            if !is_again {
                outside.effects.push_back(Effect::Report(format!(
                    "partition {partition} cannot be copied to {learner} from this brick, whose log is damaged: \
                     another replica is to lead it"
                )));
            }
            // Another replica is to lead, if one holds everything.
            outside.tell_control(ControlRequest::Evict {
                partition,
                view: replicas.replicator().status(partition).view,
                backup: replicas.me(),
                has_withdrawn: false,
            });
        }
        true
    }
}

/// Looks through some of the index for values that are in one of these segments and not in memory.
fn search(
    tables: &Tables,
    partition: PartitionId,
    from: ScanPosition,
    segments: &BTreeSet<SegmentId>,
) -> Seen {
    let Some((state, held)) = tables.partition(partition) else {
        // It has gone, and the learner with it.
        return Seen::Sound(None);
    };
    let mut is_lost = false;
    let next = state.table.scan(held.local, from, SCAN_STEP, |_, found| {
        let is_cold = matches!(found.value, ValueRef::Cold { .. });
        is_lost |= is_cold && segments.contains(&found.position.segment);
    });
    if is_lost {
        Seen::Lost
    } else {
        Seen::Sound(next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// All that was looked at can be copied; goes on there.
    Sound(Option<ScanPosition>),
    /// Something cannot.
    Lost,
}
