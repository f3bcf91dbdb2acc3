use super::*;
use brickyard_types::BrickId;
use proptest::prelude::*;

fn site(node: u32, weight: u32, zone: Option<&'static str>) -> Site<'static> {
    let member = Member {
        node: NodeId(node),
        brick: BrickId(0),
    };
    Site {
        member,
        weight,
        zone,
    }
}

fn quotas(sites: &[Site<'_>], partitions: usize, replicas: usize) -> Vec<u64> {
    let held = vec![0; sites.len()];
    Wards::new(sites, replicas).quotas(partitions, replicas, &held)
}

#[test]
fn who_can_hold_less_than_its_weight_leaves_the_rest_to_others() {
    let weighted = |weights: [u32; 3]| weights.map(|weight| (weight, None));
    let of = |sites: [(u32, Option<&'static str>); 3], replicas| {
        let sites: Vec<Site<'_>> = (0..)
            .zip(sites)
            .map(|(node, (weight, zone))| site(node, weight, zone))
            .collect();
        quotas(&sites, 100, replicas)
    };
    assert_eq!(of(weighted([1, 1, 2]), 1), [25, 25, 50]);
    assert_eq!(of(weighted([1, 1, 6]), 2), [50, 50, 100]);
    assert_eq!(of(weighted([1, 0, 6]), 2), [100, 0, 100]);
    assert_eq!(of(weighted([1, 1, 1]), 3), [100, 100, 100]);
    // Zones: one of the two copies has to be in the zone that has one node.
    let zones = [(1, Some("a")), (1, Some("a")), (1, Some("b"))];
    assert_eq!(of(zones, 2), [50, 50, 100]);
    // There are more copies than zones: two of them share one.
    assert_eq!(of(zones, 3), [100, 100, 100]);
}

#[test]
fn rounding_leaves_things_as_they_are() {
    let sites: Vec<Site<'_>> = (0..3).map(|node| site(node, 1, None)).collect();
    let wards = Wards::new(&sites, 1);
    for held in [[86, 85, 85], [85, 86, 85], [85, 85, 86]] {
        assert_eq!(wards.quotas(256, 1, &held), held);
    }
}

proptest! {
    #[test]
    fn quotas_add_up_and_are_within_one_of_the_share(
        nodes in prop::collection::vec((1_u32..6, 0_usize..4), 1..12),
        replicas in 1_usize..4,
        partitions in 1_usize..600,
    ) {
        let zones = [None, Some("a"), Some("b"), Some("c")];
        let sites: Vec<Site<'_>> = (0..)
            .zip(&nodes)
            .map(|(node, &(weight, zone))| site(node, weight, zones[zone]))
            .collect();
        let replicas = replicas.min(sites.len());
        let wards = Wards::new(&sites, replicas);
        let quotas = quotas(&sites, partitions, replicas);
        prop_assert_eq!(quotas.iter().sum::<u64>(), (partitions * replicas) as u64);
        let shares = wards.shares(partitions as u128, (partitions * replicas) as u128);
        for (quota, share) in quotas.iter().zip(shares) {
            prop_assert!(*quota <= partitions as u64);
            let is_local = *quota == share.whole || (share.part > 0 && *quota == share.whole + 1);
            prop_assert!(is_local, "{} of {:?}", quota, share);
        }
        for (ward, room) in wards.wards.iter().zip(wards.rooms(partitions as u128)) {
            let held: u64 = ward.iter().map(|&brick| quotas[brick]).sum();
            prop_assert!(u128::from(held) <= room);
        }
    }
}
