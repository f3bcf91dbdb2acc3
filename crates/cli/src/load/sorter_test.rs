use super::*;
use crate::load::lanes::Place;
use brickyard_routing::Hasher;
use std::collections::BTreeMap;

fn lanes() -> Lanes {
    let runs = [(0, "a:1"), (4_096, "b:1"), (8_192, "c:1"), (12_288, "a:1")];
    Lanes::new(
        Hasher::Slot,
        &runs.map(|(first, brick)| (first, brick.to_owned())),
    )
}

/// Records of fewer keys than there are records.
fn records(count: u64) -> impl Iterator<Item = Record> {
    (0..count).map(move |line| Record {
        key: format!("k{}", line * 7_919 % (count / 2 + 1)).into_bytes(),
        value: format!("value {line}").into_bytes(),
        line,
        ..Record::default()
    })
}

fn sorted(count: u64, memory: usize) -> (Vec<Record>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(lanes(), memory, dir.path());
    for record in records(count) {
        sorter.push(record).unwrap();
        assert!(
            sorter.waiting_bytes <= memory.max(200),
            "{}",
            sorter.waiting_bytes
        );
        assert!(sorter.runs.len() <= RUNS_MAX);
    }
    let written = sorter.runs_written();
    let all = sorter.finish().unwrap().collect::<io::Result<_>>();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    (all.unwrap(), written)
}

#[test]
fn every_record_comes_once_in_order_for_each_brick_whatever_the_memory() {
    for (count, memory) in [(0, 1 << 20), (1, 1), (3_000, 1 << 30), (3_000, 20_000)] {
        let (all, written) = sorted(count, memory);
        let lines: std::collections::BTreeSet<u64> = all.iter().map(|it| it.line).collect();
        assert_eq!((all.len() as u64, lines.len() as u64), (count, count));
        let lanes = lanes();
        let mut last: BTreeMap<u16, Place> = BTreeMap::new();
        let mut values: BTreeMap<&[u8], u64> = BTreeMap::new();
        for record in &all {
            let place = lanes.place(&record.key);
            if let Some(before) = last.insert(place.lane, place) {
                assert!(before <= place, "{memory}");
            }
            // Of one key the last line of the file comes last.
            if let Some(before) = values.insert(&record.key, record.line) {
                assert!(before < record.line);
            }
        }
        let expected: BTreeMap<Vec<u8>, u64> = records(count).map(|it| (it.key, it.line)).collect();
        let values: BTreeMap<Vec<u8>, u64> = values
            .into_iter()
            .map(|(key, line)| (key.to_vec(), line))
            .collect();
        assert_eq!(values, expected);
        assert_eq!(written > 1, memory == 20_000, "{written} runs");
    }
}

#[test]
fn many_runs_are_merged_before_they_are_too_many() {
    // A run for each record but the first of a full set, and one for each merge.
    let (all, written) = sorted(400, 1);
    assert_eq!(all.len(), 400);
    assert!(written > 400, "{written}");
}

#[test]
fn bricks_take_turns() {
    let (all, _) = sorted(3_000, 1 << 30);
    let lanes = lanes();
    let mut run = 0;
    let mut last = None;
    for record in &all[..2_000] {
        let lane = lanes.place(&record.key).lane;
        run = if last == Some(lane) { run + 1 } else { 1 };
        last = Some(lane);
        assert!(run <= TURN, "{run} of brick {lane} on end");
    }
}
