use super::*;
use crate::random::Random;
use brickyard_routing::RoutingHash;

pub(in crate::changes) fn put(op: u64, key: &str, value: &str) -> Change {
    Change::new(
        (Op(op), Kind::Put),
        (ValueType::String, None),
        key.as_bytes(),
        &[value.as_bytes()],
    )
}

fn texts<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<(u64, String)> {
    let text = |it: &Change| String::from_utf8_lossy(it.key()).into_owned();
    changes.map(|it| (it.op.0, text(it))).collect()
}

#[test]
fn a_ring_has_all_changes_behind_where_it_begins() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let bytes_max = 200 + (random.next() % 2000) as usize;
        let mut ring = ChangeRing::new(Prefix::ROOT, 1, (View(1), Op(5)));
        let mut all = Vec::new();
        let mut view = 1;
        for op in 6..200 {
            view += u32::from(random.next().is_multiple_of(20));
            ring.extend((View(view), Op(op)), Op(op));
            for at in 0..random.next() % 4 {
                let key = format!("k{op}-{at}");
                ring.push(put(op, &key, "v"), bytes_max);
                all.push((op, key));
            }
            let newest: usize = ring.changes_after(Op(op - 1)).map(Change::memory).sum();
            assert!(
                ring.memory() <= bytes_max.max(newest),
                "seed {seed} op {op}"
            );
            for from in ring.after.0..=op {
                let expected = all.iter().filter(|it| it.0 > from).cloned();
                let expected: Vec<_> = expected.collect();
                assert_eq!(texts(ring.changes_after(Op(from))), expected, "seed {seed}");
            }
        }
    }
}

#[test]
fn an_op_is_known_by_its_view_as_long_as_it_is_covered() {
    let mut ring = ChangeRing::new(Prefix::ROOT, 1, (View(3), Op(10)));
    ring.extend((View(3), Op(11)), Op(12));
    ring.extend((View(5), Op(13)), Op(15));
    let views = |ring: &ChangeRing| [9, 10, 12, 13, 15, 16].map(|op| ring.view_at(Op(op)));
    let known = |view: u32| Some(View(view));
    let expected = [None, known(3), known(3), known(5), known(5), None];
    assert_eq!(views(&ring), expected);
    for op in [12, 14] {
        ring.push(put(op, "k", "v"), 1);
    }
    assert_eq!(ring.after, Op(12), "one op is kept whatever it takes");
    let expected = [None, None, known(3), known(5), known(5), None];
    assert_eq!(views(&ring), expected);
}

#[test]
fn what_parents_keep_goes_when_a_ring_has_half_as_much() {
    let mut whole = ChangeRing::new(Prefix::ROOT, 1, (View(1), Op(0)));
    whole.extend((View(1), Op(1)), Op(3));
    whole.push(put(2, "k", "v"), 10_000);
    let whole = whole.frozen(10_000);
    let half = Prefix::of(RoutingHash(0), 1);
    let mut ring = *ChangeRing::of_part(&whole, half).unwrap();
    assert_eq!((ring.after, ring.parents().len()), (Op(3), 1));
    assert!(ring.memory() >= whole.memory(), "it is counted");
    let mut op = 3;
    while ring.bytes < 5_000 {
        assert_eq!(ring.parents().len(), 1);
        op += 1;
        ring.extend((View(2), Op(op)), Op(op));
        ring.push(put(op, "k", "v"), 10_000);
    }
    assert!(ring.parents().is_empty());
    assert_eq!(ring.after, Op(3), "nothing of its own has gone");
}

#[test]
fn rings_do_not_stand_behind_one_another_without_end() {
    let mut ring = Box::new(ChangeRing::new(Prefix::ROOT, 1, (View(1), Op(0))));
    for _ in 0..200 {
        let whole = ring.frozen(1 << 20);
        ring = ChangeRing::of_part(&whole, Prefix::ROOT).unwrap();
        assert!(ring.depth <= DEPTH_MAX);
    }
}
