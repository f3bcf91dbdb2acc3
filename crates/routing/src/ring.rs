//! Placement on a wheel, as consistent hashing has it: for comparison with `target`, and for who wants it so.
//!
//! In: the bricks, with weights, nodes and zones; how many points each has; where partitions begin. Out: for each of
//! them who should hold it, its primary first.
//!
//! Each brick has points on a circle of hashes, as many as asked for times its weight. A partition belongs to
//! the brick whose point comes first at or after the partition's own place on the circle, and its copies to the next
//! ones on other nodes (in other zones, as far as there are zones).
//!
//! Invariants:
//! - It depends on the bricks alone: a brick that joins or leaves changes nothing between others (as long as there are no more
//!   points than `RING_POINTS_TOTAL`; beyond that all bricks have fewer, in proportion).
//! - Shares are as uneven as chance makes them: with one point the fullest of nine bricks has three times its
//!   share, with a hundred points a sixth more.
//!
//! Source: Karger et al., "Consistent Hashing and Random Trees" (STOC 1997).

use crate::group::Member;
use crate::shares::{Site, Wards};
use brickyard_types::limits::RING_POINTS_TOTAL;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

/// Seeds the points: any number does, as long as it is the same everywhere and for ever.
const SECRETS: RapidSecrets = RapidSecrets::seed_cpp(0x7269_6e67);

/// The members that partitions which begin at these `places` should have, the primary first.
///
/// `points` is the number of points of a brick of weight 1. Fewer than `replicas` are returned where there are fewer
/// nodes.
#[must_use]
pub fn ring(
    sites: &[Site<'_>],
    replicas: u8,
    places: impl IntoIterator<Item = u64>,
    points: u32,
) -> Vec<Vec<Member>> {
    let mut sites: Vec<Site<'_>> = sites
        .iter()
        .copied()
        .filter(|site| site.weight > 0)
        .collect();
    sites.sort_by_key(|site| site.member);
    let mut nodes: Vec<_> = sites.iter().map(|site| site.member.node).collect();
    nodes.dedup();
    let replicas = usize::from(replicas).min(nodes.len());
    let wards = Wards::new(&sites, replicas);
    let wheel = wheel(&sites, points);
    places
        .into_iter()
        .map(|place| {
            let first = wheel.partition_point(|(point, _)| *point < place);
            let (before, after) = wheel.split_at(first);
            let around = after.iter().chain(before).map(|(_, brick)| *brick);
            let members = next_ones(around, &wards, replicas);
            members.into_iter().map(|it| sites[it].member).collect()
        })
        .collect()
}

/// All points, in order, with whose they are.
fn wheel(sites: &[Site<'_>], points: u32) -> Vec<(u64, usize)> {
    let wanted = |site: &Site<'_>| u128::from(points) * u128::from(site.weight);
    let most = u128::from(RING_POINTS_TOTAL);
    let total = sites.iter().map(wanted).sum::<u128>().max(most);
    let mut wheel: Vec<(u64, usize)> = Vec::new();
    for (brick, site) in sites.iter().enumerate() {
        let count = (wanted(site) * most / total).max(1) as u64;
        wheel.extend((0..count).map(|point| (place_of(site.member, point), brick)));
    }
    wheel.sort_unstable();
    wheel
}

/// The first bricks on a way around the circle that are apart.
fn next_ones(
    around: impl Iterator<Item = usize> + Clone,
    wards: &Wards,
    replicas: usize,
) -> Vec<usize> {
    let mut members: Vec<usize> = Vec::with_capacity(replicas);
    // Zones may be too few in the order of the circle: then nodes have to do.
    for limit in [wards.zone_limit, replicas] {
        for brick in around.clone() {
            if members.len() == replicas {
                return members;
            }
            let others = || members.iter().copied();
            let is_apart = others().all(|it| wards.node_of[it] != wards.node_of[brick]);
            let crowd = others().filter(|it| wards.zone(*it) == wards.zone(brick));
            if is_apart && crowd.count() < limit {
                members.push(brick);
            }
        }
    }
    members
}

fn place_of(member: Member, point: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&member.node.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&member.brick.0.to_le_bytes());
    bytes[8..].copy_from_slice(&point.to_le_bytes());
    rapidhash_v3_seeded(&bytes, &SECRETS)
}

#[cfg(test)]
#[path = "ring_test.rs"]
mod ring_test;
