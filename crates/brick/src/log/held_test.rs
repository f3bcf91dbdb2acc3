use super::*;
use crate::output::Meets;
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::{SegmentId, TableId, ValueType, View};

const P: PartitionId = PartitionId(7);

const VOTES: Votes = Votes {
    partition: P,
    is_logged: true,
    fsync: false,
};

fn view_start(op: u64) -> Vec<u8> {
    record_of(Kind::ViewStart, op, b"")
}

fn record_of(kind: Kind, op: u64, key: &[u8]) -> Vec<u8> {
    let header = Header {
        kind,
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
    record::encode(&mut raw, &header, key, &[b"value"]);
    raw
}

/// All keys of these tests have one hash.
const KEY: KeyRef = KeyRef {
    table: 1,
    partition: LocalPartition(0),
    hash: KeyHash(5),
};

/// The record of a SET, and what it does.
fn put_of(op: u64, name: &[u8]) -> (Vec<u8>, Prepared) {
    let raw = record_of(Kind::Put, op, name);
    let find = |part: &[u8]| raw.windows(part.len()).position(|it| it == part).unwrap() as u32;
    let prepared = Prepared {
        key: KEY,
        kind: Kind::Put,
        op: Op(op),
        value_type: ValueType::String,
        expires_at: None,
        record_at: 0,
        key_at: find(name),
        key_len: name.len() as u16,
        value_at: find(b"value"),
        value_len: 5,
        is_void: false,
    };
    (raw, prepared)
}

/// Puts a SET of a key into the batch that is being built, and closes that.
fn append_put(log: &mut Log, runs: &mut Runs, op: u64, name: &[u8]) -> BatchId {
    let (raw, prepared) = put_of(op, name);
    let record = log.hold_known(&raw, std::iter::once(prepared), VOTES);
    log.add_pending(P, runs, Op(op), record);
    log.take_batch(Instant(0)).unwrap().id
}

/// The batch is refused, and its records of these ops are in the next batch, which is closed.
fn refuse(log: &mut Log, runs: &mut Runs, batch: BatchId, ops: &[u64]) -> BatchId {
    log.on_refused(batch);
    for op in ops {
        log.append_again(P, runs, Op(*op));
    }
    log.take_batch(Instant(1)).unwrap().id
}

/// Puts a record that the replicator knows of into the batch that is being built, and closes that.
fn append(log: &mut Log, runs: &mut Runs, op: u64) -> BatchId {
    let record = log.hold_known(&view_start(op), std::iter::empty(), VOTES);
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

/// Rule `answers wait for prepared values`: nobody reads a value, as if it had committed, whose clients were told that nobody
/// knows; also if the log has refused it before that, so that it stands in a later batch.
#[test]
fn record_that_was_appended_again_is_given_up_with_the_batch_that_replies_wait_for() {
    for names in [&[b"one"][..], &[b"one", b"two"]] {
        let (mut log, mut runs) = (Log::new(), Runs::new());
        let mut batch = BatchId(0);
        for (name, op) in names.iter().zip(1..) {
            batch = append_put(&mut log, &mut runs, op, *name);
        }
        let first = BatchId(1);
        let ops: Vec<u64> = (1..=names.len() as u64).collect();
        let again = refuse(&mut log, &mut runs, first, &ops);
        assert!(again > batch);
        let found = log.pending(KEY, P, b"one").unwrap();
        assert!(!found.is_given_up && !log.meets(found.dependency));
        assert_eq!(found.dependency.batch, first, "{} keys", names.len());
        let given_up = log.give_up(Instant(0));
        assert!(given_up.contains(&(P, first)), "{given_up:?}");
        let found = log.pending(KEY, P, b"one").unwrap();
        assert!(log.meets(found.dependency), "nobody waits for it any more");
        assert!(found.is_given_up, "{} keys", names.len());
    }
}

/// Rule `answers wait for prepared values`: what rests on a clear waits for it however often the log has refused that.
#[test]
fn clear_that_was_appended_again_is_waited_for_as_before() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    let raw = record_of(Kind::Clear, 1, b"");
    let prepared = Prepared {
        key: KEY,
        kind: Kind::Clear,
        op: Op(1),
        value_type: ValueType::String,
        expires_at: None,
        record_at: 0,
        key_at: 0,
        key_len: 0,
        value_at: 0,
        value_len: 0,
        is_void: false,
    };
    let record = log.hold_known(&raw, std::iter::once(prepared), VOTES);
    log.add_pending(P, &mut runs, Op(1), record);
    let mut batch = log.take_batch(Instant(0)).unwrap().id;
    let mut dependencies = Vec::new();
    for _ in 0..3 {
        let (op, dependency) = log.pending_clear(1, LocalPartition(0), P).unwrap();
        assert_eq!(op, Op(1));
        dependencies.push(dependency);
        batch = refuse(&mut log, &mut runs, batch, &[1]);
    }
    assert!(dependencies.iter().all(|it| !log.meets(*it)));
    let mut committing = Vec::new();
    appended(&mut log, batch);
    log.take_committed(P, &mut runs, Op(1), &mut committing);
    log.release(&committing);
    assert!(dependencies.iter().all(|it| log.meets(*it)));
    assert!(log.pending_clear(1, LocalPartition(0), P).is_none());
}

/// A batch with a record of each of two partitions, and their runs.
fn batch_of_two(log: &mut Log, is_second_logged: bool) -> (BatchId, [(PartitionId, Runs); 2]) {
    let runs = [(P, true), (PartitionId(8), is_second_logged)].map(|(partition, is_logged)| {
        let votes = Votes {
            partition,
            is_logged,
            ..VOTES
        };
        let mut runs = Runs::new();
        let (raw, prepared) = put_of(1, b"name");
        let record = log.hold_known(&raw, std::iter::once(prepared), votes);
        log.add_pending(partition, &mut runs, Op(1), record);
        (partition, runs)
    });
    let batch = log.take_batch(Instant(0)).unwrap().id;
    (batch, runs)
}

fn commit_all(log: &Log, runs: &mut [(PartitionId, Runs)]) -> Vec<Committing> {
    let mut committing = Vec::new();
    for (partition, runs) in runs {
        log.take_committed(*partition, runs, Op(1), &mut committing);
    }
    committing
}

#[test]
fn batch_is_applied_as_it_is_if_all_of_it_commits() {
    let mut log = Log::new();
    let (batch, mut runs) = batch_of_two(&mut log, true);
    appended(&mut log, batch);
    let committing = commit_all(&log, &mut runs);
    let committed = log.take_whole(&committing).unwrap();
    assert_eq!(committed.position.segment, SegmentId(1));
    assert_eq!(committed.operations.len(), 2);
    log.release_whole(&committing, committed);
    assert_eq!(log.bytes_held(), 0);
    let partitions = [P, PartitionId(8)];
    let dependencies = partitions.map(|it| super::super::dependency(batch, it));
    assert!(dependencies.iter().all(|it| log.meets(*it)));
}

#[test]
fn batch_is_not_applied_as_it_is_if_a_part_of_it_commits_or_is_elsewhere() {
    let mut log = Log::new();
    let (batch, mut runs) = batch_of_two(&mut log, true);
    appended(&mut log, batch);
    let committing = commit_all(&log, &mut runs[..1]);
    assert!(log.take_whole(&committing).is_none(), "one waits");
    log.release(&committing);
    let committing = commit_all(&log, &mut runs[1..]);
    assert!(log.take_whole(&committing).is_none(), "one has committed");
    log.release(&committing);

    let (batch, mut runs) = batch_of_two(&mut log, false);
    appended(&mut log, batch);
    let committing = commit_all(&log, &mut runs);
    assert!(log.take_whole(&committing).is_none(), "one is in no log");
    log.release(&committing);

    let (first, mut runs) = batch_of_two(&mut log, true);
    let again = refuse(&mut log, &mut runs[0].1, first, &[1]);
    log.append_again(PartitionId(8), &mut runs[1].1, Op(1));
    let second = log.take_batch(Instant(1)).unwrap().id;
    for batch in [again, second] {
        appended(&mut log, batch);
    }
    let committing = commit_all(&log, &mut runs);
    assert!(log.take_whole(&committing).is_none(), "they are in two");
    log.release(&committing);
    assert_eq!(log.bytes_held(), 0);
}

/// Its operations are in order, but they are not all that ends with it: a run that goes on is not over, and one that was
/// appended again is waited for in the batch that it came from.
#[test]
fn batch_is_not_applied_as_it_is_if_a_run_of_it_goes_on_or_came_from_another() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    for op in 1..=2 {
        let record = log.hold_known(&view_start(op), std::iter::empty(), VOTES);
        log.add_pending(P, &mut runs, Op(op), record);
    }
    let batch = log.take_batch(Instant(0)).unwrap().id;
    appended(&mut log, batch);
    let mut committing = Vec::new();
    for upto in 1..=2 {
        log.take_committed(P, &mut runs, Op(upto), &mut committing);
    }
    assert_eq!(committing.len(), 2);
    assert!(log.take_whole(&committing).is_none(), "one run, in two");
    log.release(&committing);

    let first = append(&mut log, &mut runs, 3);
    let again = refuse(&mut log, &mut runs, first, &[3]);
    appended(&mut log, again);
    committing.clear();
    log.take_committed(P, &mut runs, Op(3), &mut committing);
    assert!(log.take_whole(&committing).is_none(), "it came from one");
    log.release(&committing);
    assert!(log.meets(super::super::dependency(first, P)));
    assert_eq!(log.bytes_held(), 0);
}

/// However many batches were in flight at once, which is as many as wait for replicas that are away.
#[test]
fn memory_of_few_batches_is_kept_for_the_next_ones() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    let batches: Vec<BatchId> = (1..=6)
        .map(|op| append_put(&mut log, &mut runs, op, b"name"))
        .collect();
    for batch in batches {
        appended(&mut log, batch);
    }
    let mut committing = Vec::new();
    log.take_committed(P, &mut runs, Op(6), &mut committing);
    log.release(&committing);
    let kept = [
        log.spare.len(),
        log.spare_operations.len(),
        log.spare_records.len(),
        log.spare_held.len(),
    ];
    assert_eq!(kept, [3; 4]);
}

/// A run is cut in its middle: nobody waits for what was cut, nor sees it as the newest of its key.
#[test]
fn cut_within_a_run_leaves_what_is_below_it() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    for (op, name) in [(1, &b"one"[..]), (2, b"two"), (3, b"three")] {
        let (raw, prepared) = put_of(op, name);
        let record = log.hold_known(&raw, std::iter::once(prepared), VOTES);
        log.add_pending(P, &mut runs, Op(op), record);
    }
    let batch = log.take_batch(Instant(0)).unwrap().id;
    assert_eq!(runs.len(), 1);
    assert_eq!(log.cut(P, &mut runs, Op(1)), Some((Op(2), batch)));
    assert_eq!(runs.back().map(Run::last), Some(Op(1)));
    assert!(log.pending(KEY, P, b"one").is_some());
    assert!(log.pending(KEY, P, b"two").is_none());
    assert!(log.pending(KEY, P, b"three").is_none());
}

#[test]
fn copy_on_its_way_to_the_log_concerns_its_partition_alone() {
    let mut log = Log::new();
    let (raw, prepared) = put_of(1, b"one");
    let record = record::decode(&raw).unwrap();
    let header = record.header;
    log.append_copy(&header, &record, raw.len(), std::iter::once(prepared));
    let places = [(1, 0), (0, 0), (1, 1)];
    let concerned = |log: &Log| places.map(|(table, at)| log.concerns(table, LocalPartition(at)));
    assert_eq!(concerned(&log), [true, false, false]);
    log.take_batch(Instant(0)).unwrap();
    assert_eq!(concerned(&log), [true, false, false]);
}

#[test]
fn records_that_stand_together_are_sent_together() {
    let (mut log, mut runs, mut others) = (Log::new(), Runs::new(), Runs::new());
    let put = |log: &mut Log, runs: &mut Runs, partition: PartitionId, op: u64| {
        let (raw, prepared) = put_of(op, b"k");
        let votes = Votes { partition, ..VOTES };
        let record = log.hold_known(&raw, std::iter::once(prepared), votes);
        log.add_pending(partition, runs, Op(op), record);
        raw
    };
    let mut raws = Vec::new();
    for op in 1..=3 {
        raws.push(put(&mut log, &mut runs, P, op));
    }
    put(&mut log, &mut others, PartitionId(8), 1);
    raws.push(put(&mut log, &mut runs, P, 4));
    log.take_batch(Instant(0)).unwrap();
    raws.push(put(&mut log, &mut runs, P, 5));
    let sent = |first: u64, count: usize| {
        let mut sent = Vec::new();
        log.records(&runs, Op(first), count, |it| sent.push(it.to_vec()));
        sent
    };
    let pieces = [raws[..3].concat(), raws[3].clone(), raws[4].clone()];
    assert_eq!(
        sent(1, 5),
        pieces,
        "up to another partition's, and to the batch's end"
    );
    assert_eq!(sent(2, 2), [raws[1..3].concat()]);
    assert_eq!(sent(3, 2), [raws[2].clone(), raws[3].clone()]);
    assert_eq!(sent(5, 0), Vec::<Vec<u8>>::new());
}

#[test]
fn records_that_stand_together_come_in_pieces_of_a_bounded_length() {
    let (mut log, mut runs) = (Log::new(), Runs::new());
    let count = 2 * Piece::BYTES_MAX as usize / record::HEADER_BYTES;
    let mut all = Vec::new();
    for op in 1..=count as u64 {
        let (raw, prepared) = put_of(op, b"k");
        let record = log.hold_known(&raw, std::iter::once(prepared), VOTES);
        log.add_pending(P, &mut runs, Op(op), record);
        all.extend_from_slice(&raw);
    }
    let mut sent = Vec::new();
    log.records(&runs, Op(1), count, |it| {
        assert!(it.len() <= Piece::BYTES_MAX as usize);
        assert!(record::decode(it).is_ok(), "whole records");
        sent.extend_from_slice(it);
    });
    assert!(sent == all);
}
