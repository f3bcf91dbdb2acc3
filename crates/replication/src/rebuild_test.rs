use super::*;
use crate::fixture::{P, header};

/// A record: kind, view, op, what it says of commits, flags.
type Line = (Kind, u32, u64, u64, u8);

fn value_of(kind: Kind, view: u32, op: u64) -> Vec<u8> {
    let mut value = Vec::new();
    if kind == Kind::Base {
        let base = Base {
            lineage: 1,
            view: View(view),
            op: Op(op),
            runs: vec![Run {
                view: View(view),
                first: Op(1),
            }],
        };
        base.encode(&mut value);
    }
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
fn what_is_not_known_to_be_committed_is_the_tail() {
    let (applied, restored) = rebuilt(&[(PUT, 1, 1, 0, 0), (PUT, 1, 2, 0, 0), (PUT, 1, 3, 1, 0)]);
    assert_eq!(applied, [1]);
    assert_eq!(restored.last, (View(1), Op(3)));
    assert_eq!(restored.tail.len(), 2);
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
    assert_eq!(restored.tail.len(), 1);
    assert_eq!(restored.history.len(), 2);
    assert_eq!(restored.history[1].view, View(2));
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
    // With the base the stream's records count, although they were written before it.
    let with_base = [&lines[..], &[(Kind::Base, 1, 4, 4, 0)]].concat();
    let (_, restored) = rebuilt(&with_base);
    assert_eq!(restored.last, (View(1), Op(5)));
    assert!(restored.is_complete);
    assert_eq!(restored.tail.len(), 1);
}

#[test]
fn an_older_base_takes_nothing_back() {
    let lines = [
        (Kind::Base, 1, 4, 4, 0),
        (PUT, 1, 5, 4, 0),
        (Kind::Base, 1, 2, 4, 0),
    ];
    let (_, restored) = rebuilt(&lines);
    assert_eq!(restored.last, (View(1), Op(5)));
    assert!(restored.is_complete);
}

#[test]
fn after_a_drop_only_a_base_is_claimed() {
    let lines = [
        (PUT, 1, 1, 1, 0),
        (Kind::Drop, 0, 7, 0, 0),
        (Kind::Cut, 2, 7, 7, 0),
        (PUT, 2, 8, 7, 0),
    ];
    let (_, restored) = rebuilt(&lines);
    assert_eq!((restored.last.1, restored.is_complete), (Op(0), false));
    assert_eq!(restored.committed, Op(7));
    let with_base = [&lines[..], &[(Kind::Base, 2, 7, 7, 0)]].concat();
    let (_, restored) = rebuilt(&with_base);
    assert_eq!((restored.last.1, restored.is_complete), (Op(8), true));
}

/// The cleaner has removed the sixth record, which had not committed and was cut off by the time.
#[test]
fn what_is_missing_behind_a_cut_is_not_missed() {
    let cut_at = |op: u64| {
        [
            (Kind::Base, 1, 5, 5, 0),
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
        (Kind::Base, 1, 5, 5, 0),
        (PUT, 1, 7, 5, 0),
        (PUT, 1, 6, 0, MOVED),
        (Kind::Cut, 1, 5, 5, 0),
    ];
    let (_, restored) = rebuilt(&copied);
    assert_eq!((restored.last.1, restored.is_complete), (Op(5), false));
}

#[test]
fn damage_ends_the_claim() {
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
    read(&mut rebuild, Kind::Base, 1, 1, 1);
    read(&mut rebuild, PUT, 1, 2, 1);
    rebuild.on_damage();
    read(&mut rebuild, Kind::Cut, 3, 2, 1);
    assert!(
        !rebuild.finish().is_complete,
        "the second may have been cut and replaced"
    );
}
