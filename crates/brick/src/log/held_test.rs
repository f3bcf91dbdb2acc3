use super::*;
use crate::output::Meets;
use brickyard_types::{SegmentId, TableId, View};

const P: PartitionId = PartitionId(7);

fn view_start(op: u64) -> Vec<u8> {
    let header = Header {
        kind: Kind::ViewStart,
        flags: 0,
        table: TableId(1),
        partition: P,
        view: View(1),
        op: Op(op),
        expires_at: None,
        request: None,
        origin: None,
        committed: Some(Op(0)),
    };
    let mut raw = Vec::new();
    record::encode(&mut raw, &header, b"", &[b"start"]);
    raw
}

/// Puts a record that the replicator knows of into the batch that is being built, and closes that.
fn append(log: &mut Log, runs: &mut Runs, op: u64) -> BatchId {
    let votes = Votes {
        partition: P,
        is_logged: true,
        fsync: false,
    };
    let record = log.hold_known(&view_start(op), std::iter::empty(), votes);
    log.add_pending(P, runs, Op(op), record);
    log.take_batch(Instant(0)).unwrap().id
}

fn appended(log: &mut Log, batch: BatchId) {
    let segment = SegmentId(1);
    let position = Position {
        segment,
        offset: 64,
    };
    log.on_appended(batch, position);
}

/// Rule `answers wait for prepared values`: what the log has refused and is appended again is waited for by the replies
/// that waited for it before.
#[test]
fn record_that_is_appended_again_is_waited_for_as_before() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    let first = append(&mut log, &mut runs, 1);
    appended(&mut log, first);
    let second = append(&mut log, &mut runs, 2);
    let third = append(&mut log, &mut runs, 3);
    let dependencies = [second, third].map(|batch| super::super::dependency(batch, P));
    log.on_refused(second);
    for op in [2, 3] {
        let again = log.append_again(P, &mut runs, Op(op));
        assert_eq!(again, log.building_id());
    }
    assert!(dependencies.iter().all(|it| !log.meets(*it)));
    let uncommitted = Uncommitted {
        submitted: runs.clone(),
        ..Uncommitted::default()
    };
    let asked_meanwhile = log.dependency_of(P, &uncommitted);
    // And refused once more.
    let batch = log.take_batch(Instant(0)).unwrap().id;
    log.on_refused(batch);
    for op in [2, 3] {
        log.append_again(P, &mut runs, Op(op));
    }
    let batch = log.take_batch(Instant(0)).unwrap().id;
    appended(&mut log, batch);
    assert!(dependencies.iter().all(|it| !log.meets(*it)));
    assert!(!log.meets(asked_meanwhile));
    for (upto, met) in [(2, [true, false]), (3, [true, true])] {
        let mut committing = Vec::new();
        let last = log.take_committed(P, &mut runs, Op(upto), &mut committing);
        assert_eq!(last, Some(Op(upto)));
        log.release(&committing);
        assert_eq!(dependencies.map(|it| log.meets(it)), met, "up to {upto}");
    }
    assert!(log.meets(asked_meanwhile));
    assert_eq!((log.bytes_held(), runs.len()), (0, 0));
}

/// Rule `an old primary knows no outcome`: a cut is told to all whose replies rest on what is cut, however often the log has
/// refused that.
#[test]
fn cut_of_a_record_that_was_appended_again_names_the_batch_that_replies_wait_for() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    let batch = append(&mut log, &mut runs, 1);
    log.on_refused(batch);
    log.append_again(P, &mut runs, Op(1));
    log.take_batch(Instant(0)).unwrap();
    assert_eq!(log.cut(P, &mut runs, Op(0)), Some((Op(1), batch)));
    assert_eq!((log.bytes_held(), runs.len()), (0, 0));
}
