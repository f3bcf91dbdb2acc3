use super::*;
use crate::group::NodeId;
use brickyard_types::BrickId;
use std::collections::{BTreeMap, BTreeSet};

fn sites(weights: &[u32]) -> Vec<Site<'static>> {
    let nodes = (0..).zip(weights);
    nodes
        .map(|(node, &weight)| Site {
            member: Member {
                node: NodeId(node),
                brick: BrickId(0),
            },
            weight,
            zone: None,
        })
        .collect()
}

fn primaries(placement: &[Vec<Member>]) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for members in placement {
        *counts.entry(members[0].node.0).or_default() += 1;
    }
    counts
}

/// Where so many equal parts of the circle begin.
fn places(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| at * (u64::MAX / count))
}

#[test]
fn members_are_apart_and_change_only_for_who_comes_or_goes() {
    let all = sites(&[1; 5]);
    let before = ring(&all, 2, places(1_024), 20);
    for members in &before {
        assert_eq!(members.len(), 2);
        assert_ne!(members[0].node, members[1].node);
    }
    let after = ring(&sites(&[1; 6]), 2, places(1_024), 20);
    let new = NodeId(5);
    for (before, after) in before.iter().zip(&after) {
        let added = after.iter().filter(|it| !before.contains(it));
        assert!(
            added.into_iter().all(|it| it.node == new),
            "{before:?} {after:?}"
        );
    }
    assert!(after.iter().flatten().any(|it| it.node == new));
    assert_eq!(ring(&all[..1], 3, places(4), 1)[3].len(), 1);
}

#[test]
fn one_point_is_uneven_many_less_so_and_weights_count() {
    let most = |points| {
        let counts = primaries(&ring(&sites(&[1; 9]), 1, places(16_384), points));
        counts.values().copied().max().unwrap() as f64 * 9.0 / 16_384.0
    };
    assert!(most(1) > 1.8, "{}", most(1));
    assert!(most(200) < 1.3, "{}", most(200));
    let counts = primaries(&ring(&sites(&[1, 3]), 1, places(16_384), 500));
    let ratio = counts[&1] as f64 / counts[&0] as f64;
    assert!((2.5..3.5).contains(&ratio), "{ratio}");
}

#[test]
fn zones_are_apart_where_there_are_zones() {
    let mut all = sites(&[1; 4]);
    for (site, zone) in all.iter_mut().zip(["a", "a", "a", "b"]) {
        site.zone = Some(zone);
    }
    for members in ring(&all, 2, places(256), 8) {
        let zones: BTreeSet<bool> = members.iter().map(|it| it.node.0 == 3).collect();
        assert_eq!(zones.len(), 2);
    }
}

#[test]
fn any_weights_make_a_circle_that_can_be_sorted() {
    let all = sites(&[u32::MAX, u32::MAX / 3, 1]);
    let points = wheel(&all, 1_000);
    assert!(points.len() as u64 <= RING_POINTS_TOTAL + 3);
    let of = |brick| points.iter().filter(|(_, it)| *it == brick).count();
    assert!((2.9..3.1).contains(&(of(0) as f64 / of(1) as f64)));
    assert_eq!(of(2), 1);
}
