use super::*;
use crate::group::Member;
use crate::{
    hash::{Hasher, KeyHasher},
    partition_map::PartitionMap,
    table_map::TableMap,
};
use brickyard_types::{BrickId, Incarnation, PartitionId, TableId};
use proptest::prelude::*;

fn candidate(node: u32, brick: u32, weight: u32) -> Candidate {
    let member = Member {
        node: NodeId(node),
        brick: BrickId(brick),
    };
    Candidate {
        replica: Replica {
            member,
            incarnation: Incarnation(1),
        },
        weight,
    }
}

fn one_node(weights: &[u32]) -> Vec<Candidate> {
    (0..)
        .zip(weights)
        .map(|(brick, &weight)| candidate(0, brick, weight))
        .collect()
}

fn counts(groups: &[Group], candidates: &[Candidate]) -> Vec<usize> {
    let of = |replica| {
        groups
            .iter()
            .filter(|group| group.primary == replica)
            .count()
    };
    candidates.iter().map(|brick| of(brick.replica)).collect()
}

#[test]
fn default_count_is_a_power_of_two_with_200_a_brick() {
    let count = |bricks| default_partitions(&one_node(&vec![1; bricks]));
    assert_eq!(count(0), 256);
    assert_eq!(count(1), 256);
    assert_eq!(count(2), 512);
    assert_eq!(count(5), 1_024);
    assert_eq!(count(6), 2_048);
    assert_eq!(count(81), 16_384);
    assert_eq!(count(100), 32_768);
    assert_eq!(count(10_000), 32_768);
}

#[test]
fn partitions_go_in_runs_by_weight() {
    let candidates = one_node(&[1, 0, 2, 1]);
    let groups = place(256, &candidates, 1);
    assert_eq!(counts(&groups, &candidates), [64, 0, 128, 64]);
    let owners: Vec<u32> = groups
        .iter()
        .map(|group| group.primary.member.brick.0)
        .collect();
    assert!(owners.is_sorted());
}

#[test]
fn backups_are_on_other_nodes_with_one_partner_brick_on_each() {
    let mut candidates = Vec::new();
    for node in 0..3 {
        candidates.extend((0..2).map(|brick| candidate(node, brick, 1)));
    }
    let groups = place(768, &candidates, 2);
    for group in &groups {
        let backup = group.backups[0].member;
        assert_eq!(backup.node.0, (group.primary.member.node.0 + 1) % 3);
        assert_eq!(backup.brick, group.primary.member.brick);
    }
    for brick in &candidates {
        let held = groups
            .iter()
            .filter(|group| group.backups[0] == brick.replica);
        assert_eq!(held.count(), 128);
    }
}

#[test]
#[should_panic(expected = "2 replicas on 1 nodes")]
fn more_replicas_than_nodes_is_a_caller_bug() {
    let _ = place(256, &one_node(&[1, 1]), 2);
}

proptest! {
    #[test]
    fn every_share_is_within_half_a_percent_of_its_weight(
        weights in prop::collection::vec(1_u32..=4, 1..=40)
    ) {
        let candidates = one_node(&weights);
        let partitions = default_partitions(&candidates);
        let groups = place(partitions, &candidates, 1);
        prop_assert_eq!(groups.len(), partitions as usize);
        let total: f64 = weights.iter().copied().map(f64::from).sum();
        for (&count, &weight) in counts(&groups, &candidates).iter().zip(&weights) {
            let ideal = f64::from(partitions) * f64::from(weight) / total;
            prop_assert!((count as f64 - ideal).abs() < 1.0);
            prop_assert!((count as f64 / ideal - 1.0).abs() <= 0.005);
        }
    }
}

/// The n-th number of SplitMix64 (Steele, Lea & Flood, 2014): random ids that are always the same.
fn mixed(n: u32) -> u64 {
    let mut z = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const KEYS: u32 = 100_000;

/// (keys held, keys expected) of each brick of a new table with `KEYS` keys.
fn spread(brick_count: usize, key: impl Fn(u32) -> String) -> Vec<(f64, f64)> {
    let candidates = one_node(&vec![1; brick_count]);
    let partitions = default_partitions(&candidates);
    let map = TableMap::new(
        TableId(1),
        KeyHasher::new(Hasher::Slot, 1),
        PartitionMap::even(partitions, PartitionId(0)).unwrap(),
        place(partitions, &candidates, 1),
    )
    .unwrap();
    let mut held = vec![0; brick_count];
    for number in 0..KEYS {
        let location = map.locate(key(number).as_bytes());
        let owner = map.groups()[location.leaf as usize].primary;
        held[owner.member.brick.0 as usize] += 1;
    }
    let counts = counts(map.groups(), &candidates);
    held.into_iter()
        .zip(counts)
        .map(|(held, count)| {
            let share = count as f64 / f64::from(partitions);
            (f64::from(held), share * f64::from(KEYS))
        })
        .collect()
}

/// Random ids: chi-square over the bricks below its 99.9 % point. (Nothing is drawn at random here:
/// the test gives one answer for ever.)
#[test]
fn random_ids_spread_over_bricks_as_by_chance() {
    for (bricks, chi_square_max) in [(2, 10.83), (4, 16.27), (16, 37.70), (64, 103.4)] {
        let spread = spread(bricks, |n| format!("session:{:016x}", mixed(n)));
        let terms = spread
            .iter()
            .map(|(held, expected)| (held - expected).powi(2) / expected);
        let chi_square: f64 = terms.sum();
        assert!(
            chi_square < chi_square_max,
            "{bricks} bricks: chi-square {chi_square}, {spread:?}"
        );
    }
}

/// Keys that people make up are no random numbers, and CRC16 is linear: counters come out far more
/// even than by chance, some patterns a little less. No brick may be further from its share than
/// the fullest and emptiest of many would be by chance.
#[test]
fn made_up_keys_leave_no_brick_over_or_underfull() {
    let spreads = |bricks| {
        [
            ("counter", spread(bricks, |n| n.to_string())),
            ("padded", spread(bricks, |n| format!("key:{n:012}"))),
            (
                "path",
                spread(bricks, |n| {
                    format!("/srv/photos/{}/{:03}.jpg", n / 1_000, n % 1_000)
                }),
            ),
            ("tagged", spread(bricks, |n| format!("{{user{n}}}:cart"))),
            (
                "mail",
                spread(bricks, |n| format!("u{n}@mail{}.example", n % 17)),
            ),
        ]
    };
    for bricks in [2, 4, 16, 64] {
        for (shape, spread) in spreads(bricks) {
            for (held, expected) in spread {
                let deviations = (held - expected).abs() / expected.sqrt();
                assert!(
                    deviations < 3.5,
                    "{shape} keys on {bricks} bricks: {held} keys instead of {expected}"
                );
            }
        }
    }
}
