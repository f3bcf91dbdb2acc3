use super::{
    Placing, alike, keys, keys_by_partition, most_over_mean, moved, partitions, perfect, shares,
};

#[test]
fn every_key_is_somewhere_and_even_is_even() {
    let nodes = alike(9);
    let nowhere = vec![Vec::new(); partitions(&nodes)];
    let placed = Placing::Even.place(&nodes, &nowhere);
    let counts = keys(
        &nodes,
        &placed,
        &keys_by_partition(placed.len(), "key", 9_000),
    );
    assert_eq!(counts.iter().sum::<u64>(), 9_000);
    assert!(most_over_mean(&counts) < 1.2, "{counts:?}");
    assert!(
        shares(&nodes, &placed)
            .iter()
            .all(|it| (it - 1.0).abs() < 0.05)
    );
}

#[test]
fn a_wheel_of_one_point_is_what_it_was_in_2011() {
    let nodes = alike(9);
    let nowhere = vec![Vec::new(); partitions(&nodes)];
    let placed = Placing::Ring(1).place(&nodes, &nowhere);
    assert!(
        most_over_mean(&keys(
            &nodes,
            &placed,
            &keys_by_partition(placed.len(), "key", 9_000)
        )) > 1.5
    );
}

#[test]
fn a_node_that_joins_takes_its_share_and_nothing_else_moves() {
    let before = alike(4);
    let nowhere = vec![Vec::new(); partitions(&before)];
    let placed = Placing::Even.place(&before, &nowhere);
    let after = Placing::Even.place(&alike(5), &placed);
    assert!(moved(&placed, &after) <= placed.len().div_ceil(5));
}

#[test]
fn a_perfect_hash_loses_no_key_and_two_draws_differ() {
    let draw = perfect(7, 1_000, 1);
    assert_eq!(draw.iter().sum::<u64>(), 7_000);
    assert_ne!(draw, perfect(7, 1_000, 2));
}
