//! What the log claims of partitions: baseline records, by which a restart knows what has committed.
//!
//! In:  what the replicator holds; what recovery has found. Out: baseline records in the batch that is being built.
//!
//! Invariant (rule `log summaries begin at a baseline`): a baseline record is written only of what claims something, and
//! says no more than that.

use crate::log::Log;
use crate::replica::Replication;
use crate::retained::{Level, Mark, Retained};
use crate::tables::Tables;
use brickyard_replication::{Baseline, LogMark, Replicator};
use brickyard_types::PartitionId;
use brickyard_types::record::{Header, Kind};

/// Appends that the replica holds all that has committed in a partition (rule `log summaries begin at a baseline`).
/// False: it claims nothing yet, since a copy is under way.
pub(crate) fn append_own_baseline(
    replicator: &Replicator,
    log: &mut Log,
    retained: &mut Retained,
    partition: PartitionId,
) -> bool {
    let Some((header, value)) = replicator.baseline(partition) else {
        return false;
    };
    assert_eq!(
        header.partition, partition,
        "a baseline of another partition"
    );
    append_baseline_record(log, retained, &header, &value);
    true
}

/// Appends that the replica holds all up to a baseline. False: the partition is not here.
pub(crate) fn append_baseline(
    tables: &Tables,
    log: &mut Log,
    retained: &mut Retained,
    partition: PartitionId,
    baseline: &Baseline,
) -> bool {
    assert!(
        !baseline.runs.is_empty(),
        "{partition} has no view in its baseline"
    );
    let Some((state, _)) = tables.partition(partition) else {
        return false;
    };
    let header = Header {
        kind: Kind::Baseline,
        flags: 0,
        table: state.id,
        partition,
        view: baseline.view,
        op: baseline.op,
        expires_at: None,
        request: None,
        origin: None,
        committed: Some(baseline.op),
    };
    let mut value = Vec::new();
    baseline.encode(&mut value);
    append_baseline_record(log, retained, &header, &value);
    true
}

fn append_baseline_record(log: &mut Log, retained: &mut Retained, header: &Header, value: &[u8]) {
    assert_eq!(header.kind, Kind::Baseline, "the record of a baseline");
    let level = (u64::from(header.view.0), header.op.0);
    let key = (header.partition, Mark::Baseline);
    append_mark(log, retained, key, level, |log| {
        log.append_bare(header, b"", &[value]);
    });
}

/// Appends a record that says something of a whole partition: the last of its kind counts.
pub(crate) fn append_mark(
    log: &mut Log,
    retained: &mut Retained,
    key: (PartitionId, Mark),
    level: Level,
    append: impl FnOnce(&mut Log),
) {
    let before = log.building_len();
    append(log);
    let bytes = log.building_len() - before;
    assert!(bytes > 0, "{key:?} is a record of no bytes");
    retained.append(log.building_id(), key, level, bytes);
}

/// Claims a partition of which the log has nothing of its own: what others had went to it. Until that is in the log
/// nothing else of it is.
pub(crate) fn append_first_baseline(replication: &mut Replication<'_>, partition: PartitionId) {
    let Replication {
        replicas,
        log,
        segments,
        ..
    } = replication;
    let mark = LogMark(log.building_id().0);
    if append_own_baseline(
        replicas.replicator(),
        log,
        &mut segments.retained,
        partition,
    ) {
        replicas.baseline_in(partition, mark);
    }
}

/// A segment is full: what it has is claimed in the next one, so that a restart knows it to be committed.
pub(crate) fn append_baselines(
    tables: &mut Tables,
    replicator: &Replicator,
    log: &mut Log,
    retained: &mut Retained,
) {
    let logged = tables.iter_mut().filter(|state| state.is_logged());
    let held = logged.flat_map(|state| state.partitions.iter_mut().flatten());
    let mut changed: Vec<PartitionId> = held
        .filter(|it| it.covered < it.committed)
        .map(|it| {
            it.covered = it.committed;
            it.id
        })
        .collect();
    changed.sort_unstable();
    for partition in changed {
        // One that is catching up has no log summary yet.
        append_own_baseline(replicator, log, retained, partition);
    }
}
