//! What the replicator wants of the world outside: streams, syncs, changes of its group, copies.
//!
//! In:  [`Want`]s, in order. Out: effects; catch-ups begun and ended.
//!
//! Invariant: at most one checkpoint is under way for the replicator; what was appended since it was asked for is synced by
//! another.

use super::{Replicas, Replication};
use crate::append::BatchId;
use crate::catch_up::CatchUps;
use crate::effect::{ControlRequest, Effect};
use crate::log::Log;
use crate::outside::Outside;
use crate::pending_split::tell_ready;
use brickyard_replication::Want;

/// The token of a checkpoint that the replicator waits for.
pub(crate) const SYNC_TOKEN: u64 = u64::MAX;

/// Carries out what the replicator wants at the end of a turn.
pub(crate) fn carry_out_wants(
    replication: &mut Replication<'_>,
    catch_ups: &mut CatchUps,
    outside: &mut Outside<'_>,
) {
    while let Some(want) = replication.replicas.engine.requests.pop_front() {
        let effect = match want {
            Want::Dial(replica) => Effect::Dial(replica),
            Want::SyncLog => {
                sync_log(replication.replicas, replication.log, outside);
                continue;
            }
            Want::Promote {
                partition,
                view,
                learner,
            } => {
                let request = ControlRequest::Promote {
                    partition,
                    view,
                    learner,
                };
                Effect::Control(0, request)
            }
            Want::Evict {
                partition,
                view,
                backup,
                has_withdrawn,
            } => {
                let request = ControlRequest::Evict {
                    partition,
                    view,
                    backup,
                    has_withdrawn,
                };
                Effect::Control(0, request)
            }
            Want::Split {
                partition,
                view,
                begun_at,
                last,
            } => {
                let catalog = replication.tables.catalog();
                tell_ready(catalog, outside, (partition, view), begun_at, last);
                continue;
            }
            Want::CatchUp {
                partition,
                learner,
                link,
                after,
            } => {
                catch_ups.begin(partition, learner, link, after);
                continue;
            }
            Want::StopCatchUp { partition, learner } => {
                catch_ups.stop(partition, learner);
                continue;
            }
            Want::Close { link, reason } => Effect::ClosePeer(link, reason.to_owned()),
            Want::Report { partition, what } => {
                Effect::Report(format!("partition {partition}: {what}"))
            }
        };
        outside.effects.push_back(effect);
    }
}

/// The sync that the replicator asked for is done.
pub(crate) fn on_sync_done(
    replication: &mut Replication<'_>,
    outside: &mut Outside<'_>,
    is_well: bool,
) {
    let Some(upto) = replication.replicas.syncing.take() else {
        return;
    };
    if is_well {
        replication.on_synced(upto);
    }
    // A sync covers what was appended before it was asked for, and nothing that came later.
    if std::mem::take(&mut replication.replicas.sync_wanted) || !is_well {
        sync_log(replication.replicas, replication.log, outside);
    }
}

fn sync_log(replicas: &mut Replicas, log: &mut Log, outside: &mut Outside<'_>) {
    replicas.engine.replicator.on_sync_asked();
    // What was appended before is covered by a checkpoint; what is being built syncs itself.
    let upto = BatchId(log.building_id().0 - 1);
    if log.sync_building() {
        return;
    }
    if let Some(syncing) = replicas.syncing {
        assert!(
            syncing <= upto,
            "{syncing:?} is being synced, and {upto:?} is the last that was appended"
        );
        replicas.sync_wanted = true;
        return;
    }
    replicas.syncing = Some(upto);
    outside.effects.push_back(Effect::Checkpoint(SYNC_TOKEN));
}
