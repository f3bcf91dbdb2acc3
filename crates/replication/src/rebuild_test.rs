use super::*;
use crate::fixture::{P, header};

/// A record: kind, view, op, what it says of commits, flags.
type Line = (Kind, u32, u64, u64, u8);

fn value_of(kind: Kind, view: u32, op: u64) -> Vec<u8> {
    match kind {
        Kind::Baseline => claim(view, op, &[(view, 1)]),
        _ => Vec::new(),
    }
}

/// What a baseline record says: up to where, and the first ops of views.
fn claim(view: u32, op: u64, runs: &[(u32, u64)]) -> Vec<u8> {
    let runs = runs.iter().map(|(view, first)| Run {
        view: View(*view),
        first: Op(*first),
    });
    let baseline = Baseline {
        generation: 1,
        view: View(view),
        op: Op(op),
        runs: runs.collect(),
    };
    let mut value = Vec::new();
    baseline.encode(&mut value);
    value
}

fn rebuilt(lines: &[Line]) -> (Vec<u64>, Restored<()>) {
    let mut rebuild = Rebuild::default();
    let mut applied = Vec::new();
    for (kind, view, op, known, flags) in lines {
        let mut header = header(*kind, P, *view, *op, *known);
        header.flags = *flags;
        let value = value_of(*kind, *view, *op);
        rebuild.on_record(&header, &value, LogMark::NONE, (), &mut |entry| {
            applied.push(entry.op.0);
        });
    }
    (applied, rebuild.finish())
}

const PUT: Kind = Kind::Put;
const MOVED: u8 = flag::MOVED;

#[test]
fn what_is_not_known_to_be_committed_is_the_suffix() {
    let (applied, restored) = rebuilt(&[(PUT, 1, 1, 0, 0), (PUT, 1, 2, 0, 0), (PUT, 1, 3, 1, 0)]);
    assert_eq!(applied, [1]);
    assert_eq!(restored.last, (View(1), Op(3)));
    assert_eq!(restored.suffix.len(), 2);
    assert!(restored.is_complete);
}

#[test]
fn only_a_cut_cuts() {
    let lines = [
        (PUT, 1, 1, 0, 0),
        (PUT, 1, 2, 0, 0),
        (Kind::Cut, 2, 1, 0, 0),
        (PUT, 2, 2, 0, 0),
        (PUT, 2, 3, 2, 0),
    ];
    let (applied, restored) = rebuilt(&lines);
    assert_eq!(applied, [1, 2]);
    assert_eq!(restored.suffix.len(), 1);
    assert_eq!(restored.history.len(), 2);
    assert_eq!(restored.history[1].view, View(2));
}

#[test]
fn nothing_above_a_cut_comes_back_when_a_copy_takes_its_place() {
    let lines = [
        (PUT, 1, 1, 0, 0),
        (PUT, 1, 2, 0, 0),
        (Kind::Cut, 2, 1, 0, 0),
        // The stream goes on behind what was copied.
        (Kind::Cut, 2, 5, 5, 0),
    ];
    let (applied, restored) = rebuilt(&lines);
    assert_eq!(applied, [1]);
    assert_eq!(restored.suffix.len(), 0);
}

#[test]
fn copies_are_committed_and_no_part_of_the_run() {
    let lines = [
        (PUT, 1, 1, 1, 0),
        (Kind::Cut, 1, 1, 1, 0),
        (PUT, 1, 5, 4, 0),
        (PUT, 1, 3, 0, MOVED),
        (PUT, 1, 9, 0, MOVED),
    ];
    let (applied, restored) = rebuilt(&lines);
    assert_eq!(applied, [1, 3, 9]);
    assert_eq!(restored.last, (View(1), Op(1)), "the base is missing");
    assert!(!restored.is_complete);
    // With the baseline the stream's records count, although they were written before it.
    let with_baseline = [&lines[..], &[(Kind::Baseline, 1, 4, 4, 0)]].concat();
    let (_, restored) = rebuilt(&with_baseline);
    assert_eq!(restored.last, (View(1), Op(5)));
    assert!(restored.is_complete);
    assert_eq!(restored.suffix.len(), 1);
}

#[test]
fn an_older_baseline_takes_nothing_back() {
    let lines = [
        (Kind::Baseline, 1, 4, 4, 0),
        (PUT, 1, 5, 4, 0),
        (Kind::Baseline, 1, 2, 4, 0),
    ];
    let (_, restored) = rebuilt(&lines);
    assert_eq!(restored.last, (View(1), Op(5)));
    assert!(restored.is_complete);
}

#[test]
fn after_a_drop_only_a_baseline_is_claimed() {
    let lines = [
        (PUT, 1, 1, 1, 0),
        (Kind::Drop, 0, 7, 0, 0),
        (Kind::Cut, 2, 7, 7, 0),
        (PUT, 2, 8, 7, 0),
    ];
    let (_, restored) = rebuilt(&lines);
    assert_eq!((restored.last.1, restored.is_complete), (Op(0), false));
    assert_eq!(restored.committed, Op(7));
    let with_baseline = [&lines[..], &[(Kind::Baseline, 2, 7, 7, 0)]].concat();
    let (_, restored) = rebuilt(&with_baseline);
    assert_eq!((restored.last.1, restored.is_complete), (Op(8), true));
}

/// The cleaner has removed the sixth record, which had not committed and was cut off by the time.
#[test]
fn what_is_missing_behind_a_cut_is_not_missed() {
    let cut_at = |op: u64| {
        [
            (Kind::Baseline, 1, 5, 5, 0),
            (PUT, 1, 7, 5, 0),
            (PUT, 1, 8, 5, 0),
            (Kind::Cut, 2, op, 5, 0),
            (PUT, 2, op + 1, 5, 0),
            (PUT, 2, op + 2, 5, 0),
        ]
    };
    let (_, restored) = rebuilt(&cut_at(5));
    assert_eq!(
        (restored.last, restored.is_complete),
        ((View(2), Op(7)), true)
    );
    let (_, restored) = rebuilt(&cut_at(7));
    assert_eq!(
        (restored.last.1, restored.is_complete),
        (Op(5), false),
        "the sixth counts"
    );
}

/// The cleaner has removed the second view's start and its cut, which a baseline behind them says as well, and not what they
/// cut: the third record of the first view.
#[test]
fn what_was_cut_does_not_come_back_when_its_cut_was_cleaned_away() {
    let lines = [
        (PUT, 1, 1, 0, 0),
        (PUT, 1, 2, 1, 0),
        (PUT, 1, 3, 1, 0),
        (PUT, 2, 5, 4, 0),
        (PUT, 2, 6, 5, 0),
    ];
    let read = |lines: &[Line], first: u64| {
        let mut rebuild = Rebuild::default();
        let mut applied = Vec::new();
        let mut apply = |entry: SuffixEntry<()>| applied.push((entry.view.0, entry.op.0));
        for (kind, view, op, known, _) in lines {
            let header = header(*kind, P, *view, *op, *known);
            rebuild.on_record(&header, b"", LogMark::NONE, (), &mut apply);
        }
        let value = claim(2, 5, &[(1, 1), (2, first)]);
        let header = header(Kind::Baseline, P, 2, 5, 5);
        rebuild.on_record(&header, &value, LogMark::NONE, (), &mut apply);
        let restored = rebuild.finish();
        (applied, restored.last.1.0, restored.is_complete)
    };
    let (applied, last, is_complete) = read(&lines, 3);
    assert_eq!(applied, [(1, 1), (2, 5), (1, 2)], "the third was cut");
    assert_eq!((last, is_complete), (6, true));
    // It was not, if the second view begins behind it.
    let (applied, ..) = read(&lines, 4);
    assert_eq!(applied, [(1, 1), (2, 5), (1, 2), (1, 3)]);
    // The records of the second view may be gone as well.
    let (applied, ..) = read(&lines[..3], 3);
    assert_eq!(applied, [(1, 1), (1, 2)]);
}

/// There are others that have more, or nobody has: either way what was read counts.
#[test]
fn what_may_have_been_cut_counts_where_no_baseline_tells() {
    let mut rebuild = Rebuild::default();
    let mut applied = Vec::new();
    let mut apply = |entry: SuffixEntry<()>| applied.push((entry.view.0, entry.op.0));
    for (view, op, known) in [(1, 1, 0), (1, 2, 0), (2, 5, 4)] {
        let header = header(PUT, P, view, op, known);
        rebuild.on_record(&header, b"", LogMark::NONE, (), &mut apply);
    }
    rebuild.end_doubts(&mut apply);
    let restored = rebuild.finish();
    assert_eq!(applied, [(1, 1), (1, 2)]);
    assert_eq!(
        (restored.last, restored.committed),
        ((View(1), Op(2)), Op(4))
    );
    assert!(!restored.is_complete);
}

/// A partition was split behind its twelfth op. The cleaner may have removed what cut some of that, and what came after it.
#[test]
fn what_a_split_partition_had_waits_for_its_parts_baseline() {
    let read = |lines: &[Line], runs: &[(u32, u64)], baseline: Option<(u32, u64)>| {
        let mut rebuild = Rebuild::default();
        let mut applied = Vec::new();
        let mut apply = |entry: SuffixEntry<()>| applied.push((entry.view.0, entry.op.0));
        let had = [(1, 10), (2, 11), (1, 13)].map(|(view, op)| SuffixEntry {
            view: View(view),
            op: Op(op),
            mark: LogMark::NONE,
            payload: (),
        });
        rebuild.inherit(had);
        for (kind, view, op, known, _) in lines {
            let header = header(*kind, P, *view, *op, *known);
            rebuild.on_record(&header, b"", LogMark::NONE, (), &mut apply);
        }
        if let Some((view, op)) = baseline {
            let value = claim(view, op, runs);
            let header = header(Kind::Baseline, P, view, op, op);
            rebuild.on_record(&header, &value, LogMark::NONE, (), &mut apply);
        }
        rebuild.end_doubts(&mut apply);
        applied
    };
    let later = [(PUT, 3, 15, 14, 0), (PUT, 3, 16, 15, 0)];
    // The first of them was cut, and so was the third, which nobody has acknowledged.
    let runs = [(1, 1), (2, 10), (3, 13)];
    assert_eq!(read(&later, &runs, Some((3, 14))), [(3, 15), (2, 11)]);
    assert_eq!(read(&[], &runs, Some((3, 14))), [(2, 11)]);
    // Behind a baseline views are no older than its own.
    assert_eq!(
        read(&[], &[(1, 1), (2, 11)], Some((2, 12))),
        [(1, 10), (2, 11)]
    );
    // What comes from the part itself takes the place of what was there.
    let own = [(Kind::ViewStart, 3, 13, 12, 0)];
    assert_eq!(read(&own, &[], None), [(1, 10), (2, 11)]);
    assert_eq!(read(&[(Kind::Cut, 3, 10, 10, 0)], &[], None), [(1, 10)]);
    // Nothing tells: it counts.
    assert_eq!(read(&[], &[], None), [(1, 10), (2, 11), (1, 13)]);
    assert_eq!(read(&[(Kind::Drop, 3, 20, 0, 0)], &[], None), []);
}

/// It was split from one that had been split from another.
#[test]
fn what_the_nearer_one_had_takes_the_place_of_what_the_farther_one_had() {
    let mut rebuild = Rebuild::default();
    let mut applied = Vec::new();
    let mut apply = |entry: SuffixEntry<()>| applied.push((entry.view.0, entry.op.0));
    let of = |all: &[(u32, u64)]| -> Vec<SuffixEntry<()>> {
        let entries = all.iter().map(|(view, op)| SuffixEntry {
            view: View(*view),
            op: Op(*op),
            mark: LogMark::NONE,
            payload: (),
        });
        entries.collect()
    };
    rebuild.inherit(of(&[(1, 10), (1, 12)]));
    rebuild.inherit(of(&[(2, 11), (2, 13)]));
    rebuild.end_doubts(&mut apply);
    rebuild.inherit(of(&[(2, 14)]));
    rebuild.disinherit();
    rebuild.end_doubts(&mut apply);
    assert_eq!(applied, [(1, 10), (2, 11), (2, 13)]);
}

/// A copy that was not finished is begun anew: what had committed by then is not here.
#[test]
fn a_cut_below_what_has_committed_makes_nothing_whole() {
    let lines = [
        (PUT, 1, 1, 1, 0),
        (Kind::Cut, 1, 1, 1, 0),
        (PUT, 1, 5, 4, 0),
        (Kind::Cut, 1, 1, 1, 0),
    ];
    let (_, restored) = rebuilt(&lines);
    assert_eq!((restored.last.1, restored.is_complete), (Op(1), false));
    let copied = [
        (Kind::Baseline, 1, 5, 5, 0),
        (PUT, 1, 7, 5, 0),
        (PUT, 1, 6, 0, MOVED),
        (Kind::Cut, 1, 5, 5, 0),
    ];
    let (_, restored) = rebuilt(&copied);
    assert_eq!((restored.last.1, restored.is_complete), (Op(5), false));
}

#[test]
fn damage_ends_the_summary() {
    let mut rebuild: Rebuild<()> = Rebuild::default();
    let mut apply = |_| {};
    for op in 1..=2 {
        rebuild.on_record(
            &header(PUT, P, 1, op, op),
            &[],
            LogMark::NONE,
            (),
            &mut apply,
        );
    }
    rebuild.on_damage();
    rebuild.on_record(&header(PUT, P, 1, 4, 3), &[], LogMark::NONE, (), &mut apply);
    let restored = rebuild.finish();
    assert_eq!(restored.last, (View(1), Op(2)));
    assert!(!restored.is_complete);
}

#[test]
fn nobody_knows_what_was_cut_where_there_is_damage() {
    let mut rebuild: Rebuild<()> = Rebuild::default();
    let mut apply = |_| {};
    let mut read = |rebuild: &mut Rebuild<()>, kind, view, op, committed| {
        let header = header(kind, P, view, op, committed);
        let value = value_of(kind, view, op);
        rebuild.on_record(&header, &value, LogMark::NONE, (), &mut apply);
    };
    read(&mut rebuild, Kind::Baseline, 1, 1, 1);
    read(&mut rebuild, PUT, 1, 2, 1);
    rebuild.on_damage();
    read(&mut rebuild, Kind::Cut, 3, 2, 1);
    assert!(
        !rebuild.finish().is_complete,
        "the second may have been cut and replaced"
    );
}

#[test]
fn a_log_that_says_nothing_is_the_default() {
    let (_, restored) = rebuilt(&[]);
    let default: Restored<()> = Restored::default();
    assert_eq!(
        (restored.generation, restored.last, restored.is_complete),
        (default.generation, default.last, default.is_complete)
    );
    assert_eq!((default.last, default.committed), ((View(0), Op(0)), Op(0)));
    assert_eq!((default.generation, default.watermark), (0, Op(0)));
}

#[test]
fn a_record_takes_the_place_of_one_with_its_op_and_of_all_above() {
    let lines = [
        (PUT, 1, 1, 1, 0),
        (PUT, 1, 2, 1, 0),
        (PUT, 1, 3, 1, 0),
        (PUT, 2, 2, 1, 0),
    ];
    let (_, restored) = rebuilt(&lines);
    let suffix: Vec<(u32, u64)> = restored
        .suffix
        .iter()
        .map(|it| (it.view.0, it.op.0))
        .collect();
    assert_eq!(suffix, [(2, 2)]);
}

#[test]
fn a_baseline_that_cannot_be_read_is_damage() {
    let mut rebuild: Rebuild<()> = Rebuild::default();
    let header = header(Kind::Baseline, P, 1, 4, 4);
    rebuild.on_record(&header, &[1], LogMark::NONE, (), &mut |_| {});
    assert!(!rebuild.finish().is_complete);
}

#[test]
fn a_baseline_brings_its_views_and_keeps_those_above_it() {
    let views = |lines: &[Line]| {
        let (_, restored) = rebuilt(lines);
        let runs = restored.history.iter();
        runs.map(|run| (run.view.0, run.first.0))
            .collect::<Vec<_>>()
    };
    let baseline = (Kind::Baseline, 2, 4, 4, 0);
    assert_eq!(views(&[(PUT, 3, 5, 3, 0), baseline]), [(2, 1), (3, 5)]);
    assert_eq!(views(&[(PUT, 3, 2, 0, 0), baseline]), [(2, 1)], "below it");
    assert_eq!(
        views(&[(PUT, 1, 5, 3, 0), baseline]),
        [(2, 1)],
        "an older view"
    );
}

#[test]
fn a_record_is_held_if_all_up_to_it_was_read() {
    let mut rebuild: Rebuild<()> = Rebuild::default();
    for op in 1..=2 {
        let header = header(PUT, P, 1, op, 0);
        rebuild.on_record(&header, &[], LogMark::NONE, (), &mut |_| {});
    }
    let holds = |view: u32, op: u64| rebuild.holds((View(view), Op(op)));
    assert!(holds(1, 1) && holds(1, 2));
    assert!(!holds(1, 3) && !holds(2, 2) && !holds(2, 1));
}

#[test]
fn what_a_partition_ended_with_commits_and_the_rest_goes() {
    let mut rebuild: Rebuild<()> = Rebuild::default();
    let mut applied = Vec::new();
    for op in 1..=3 {
        let header = header(PUT, P, 1, op, 1);
        let apply = &mut |entry: SuffixEntry<()>| applied.push(entry.op.0);
        rebuild.on_record(&header, &[], LogMark::NONE, (), apply);
    }
    rebuild.end_at(Op(2), &mut |entry| applied.push(entry.op.0));
    assert_eq!(applied, [1, 2]);
    let restored = rebuild.finish();
    assert_eq!(
        (restored.last, restored.suffix.len()),
        ((View(1), Op(2)), 0)
    );
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn a_baseline_ends_what_damage_before_it_means() {
    let lines = |is_damaged: bool| {
        let mut rebuild: Rebuild<()> = Rebuild::default();
        let read = |lines: &[Line], rebuild: &mut Rebuild<()>| {
            for (kind, view, op, known, flags) in lines {
                let mut header = header(*kind, P, *view, *op, *known);
                header.flags = *flags;
                let value = value_of(*kind, *view, *op);
                rebuild.on_record(&header, &value, LogMark::NONE, (), &mut |_| {});
            }
        };
        read(&[(PUT, 1, 1, 0, 0)], &mut rebuild);
        rebuild.on_damage();
        read(&[(Kind::Baseline, 1, 5, 5, 0)], &mut rebuild);
        if is_damaged {
            rebuild.on_damage();
        }
        // Op 6 was cut and is gone from the log, which op 7 shows.
        read(&[(PUT, 1, 7, 5, 0), (Kind::Cut, 2, 5, 5, 0)], &mut rebuild);
        let restored = rebuild.finish();
        (restored.is_complete, restored.last)
    };
    assert_eq!(lines(false), (true, (View(1), Op(5))));
    assert!(!lines(true).0, "damage behind it counts");
}
