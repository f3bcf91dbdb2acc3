//! How evenly keys come out: keys per brick for 1,000 and 100,000 keys a brick, on 3 to 100 bricks, with the
//! placement `even` and with a wheel of one and of a hundred points a brick.
//!
//! ```sh
//! cargo run --release -p brickyard-routing --example keys_per_brick            # the table
//! cargo run --release -p brickyard-routing --example keys_per_brick -- --all   # with the keys of every brick
//! ```
//! `max/mean` is the fullest brick's keys over the mean. `chance` is what a perfect hash would give: the mean of the
//! fullest of so many bricks (by drawing). `chi2` is the sum of squared deviations from the shares of the hash space over
//! what is expected, and should be near the number of bricks less one; `of 1000` is how many of a thousand draws of a
//! perfect hash are less even.

use brickyard_routing::{
    Candidate, Hasher, KeyHasher, Member, NodeId, PartitionMap, Replica, Site, default_partitions,
    ring, target,
};
use brickyard_types::{BrickId, Incarnation, PartitionId};
use std::collections::BTreeMap;

const BRICKS: [usize; 6] = [3, 5, 7, 9, 30, 100];

/// Draws of a perfect hash.
const DRAWS: usize = 1_000;

fn main() {
    let is_long = std::env::args().any(|it| it == "--all");
    println!("placement   bricks  keys each  max/mean  chance  chi2      of 1000  share off");
    for each in [1_000, 100_000] {
        for bricks in BRICKS {
            for name in ["even", "even grown", "ring 1", "ring 100"] {
                show(name, bricks, each, is_long);
            }
        }
    }
    println!();
    println!("bricks  copies  join moves  least  leave moves  least");
    for bricks in BRICKS {
        show_moves(bricks);
    }
}

/// How many copies move when a brick joins so many, and when one of so many leaves, of two copies of each partition.
fn show_moves(bricks: usize) {
    let partitions = partitions(bricks);
    let copies: u8 = 2;
    let held = target(&sites(bricks), copies, &vec![Vec::new(); partitions]);
    let joined = target(&sites(bricks + 1), copies, &held);
    let left = target(&sites(bricks)[1..], copies, &held);
    let gone = |members: &[Member]| members.iter().any(|it| it.node.0 == 0);
    println!(
        "{bricks:>6}  {:>6}  {:>10}  {:>5}  {:>11}  {:>5}",
        partitions * usize::from(copies),
        moves(&held, &joined),
        partitions * usize::from(copies) / (bricks + 1),
        moves(&held, &left),
        held.iter().filter(|members| gone(members)).count(),
    );
}

/// Copies that are where there was none.
fn moves(before: &[Vec<Member>], after: &[Vec<Member>]) -> usize {
    let new = |(before, after): (&Vec<Member>, &Vec<Member>)| {
        let new = after.iter().filter(|it| !before.contains(it));
        new.count()
    };
    before.iter().zip(after).map(new).sum()
}

fn show(name: &str, bricks: usize, each: usize, is_long: bool) {
    let partitions = partitions(bricks);
    let placement = placement(name, bricks, partitions);
    let keys = bricks * each;
    let counts = counts(&placement, bricks, keys);
    let shares = shares(&placement, bricks);
    let mean = each as f64;
    let most = counts.iter().copied().max().unwrap_or_default() as f64;
    let chi2: f64 = counts
        .iter()
        .zip(&shares)
        .filter(|(_, share)| **share > 0.0)
        .map(|(count, share)| {
            let expected = share * keys as f64;
            (*count as f64 - expected).powi(2) / expected
        })
        .sum();
    let (chance, worse) = perfect(bricks, each, chi2);
    let off = shares
        .iter()
        .map(|share| (share * bricks as f64 - 1.0).abs())
        .fold(0.0, f64::max);
    println!(
        "{name:<10}  {bricks:>6}  {each:>9}  {:>8.3}  {chance:>6.3}  {chi2:>8.1}  {worse:>7}  {:>8.2} %",
        most / mean,
        off * 100.0
    );
    if is_long {
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        println!("    {}", counts.join(" "));
    }
}

/// As many as a new table has.
fn partitions(bricks: usize) -> usize {
    let candidates = sites(bricks).into_iter().map(|site| Candidate {
        replica: Replica {
            member: site.member,
            incarnation: Incarnation(1),
        },
        weight: site.weight,
    });
    default_partitions(&candidates.collect::<Vec<_>>()) as usize
}

fn sites(bricks: usize) -> Vec<Site<'static>> {
    let nodes = 0..bricks as u32;
    nodes
        .map(|node| Site {
            member: Member {
                node: NodeId(node),
                brick: BrickId(0),
            },
            weight: 1,
            zone: None,
        })
        .collect()
}

fn placement(name: &str, bricks: usize, partitions: usize) -> Vec<Vec<Member>> {
    let nothing = vec![Vec::new(); partitions];
    match name {
        "even" => target(&sites(bricks), 1, &nothing),
        // One brick joins after the other.
        "even grown" => {
            (1..=bricks).fold(nothing, |before, bricks| target(&sites(bricks), 1, &before))
        }
        "ring 1" => ring(&sites(bricks), 1, places(partitions), 1),
        _ => ring(&sites(bricks), 1, places(partitions), 100),
    }
}

/// Where each partition begins.
fn places(partitions: usize) -> impl Iterator<Item = u64> {
    let map = PartitionMap::even(partitions as u32, PartitionId(0));
    let leaves = map.expect("a power of two").leaves().to_vec();
    leaves.into_iter().map(|leaf| leaf.prefix.first().0)
}

fn shares(placement: &[Vec<Member>], bricks: usize) -> Vec<f64> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for members in placement {
        *counts.entry(members[0].node.0).or_default() += 1;
    }
    (0..bricks as u32)
        .map(|node| *counts.get(&node).unwrap_or(&0) as f64 / placement.len() as f64)
        .collect()
}

/// Keys of each brick; named as in the Infinispan runs that this is compared with.
fn counts(placement: &[Vec<Member>], bricks: usize, keys: usize) -> Vec<usize> {
    let hasher = KeyHasher::new(Hasher::Slot, 1);
    let map = PartitionMap::even(placement.len() as u32, PartitionId(0));
    let map = map.expect("a power of two");
    let mut counts = vec![0; bricks];
    for key in 0..keys {
        let hash = hasher.routing_hash(format!("key{key}").as_bytes());
        let members = &placement[map.leaf_index(hash)];
        counts[members[0].node.0 as usize] += 1;
    }
    counts
}

/// Of a perfect hash: the mean of the fullest brick over the mean, and how many draws of a thousand are less even
/// than this.
fn perfect(bricks: usize, each: usize, chi2: f64) -> (f64, usize) {
    let keys = bricks * each;
    // Far from the ends a brick's keys are normal with this deviation.
    let deviation = (each as f64 * (1.0 - 1.0 / bricks as f64)).sqrt();
    let mut random = 1_u64 + keys as u64;
    let (mut most, mut worse) = (0.0, 0);
    for _ in 0..DRAWS {
        let draws: Vec<f64> = (0..bricks)
            .map(|_| normal(&mut random) * deviation)
            .collect();
        let mean = draws.iter().sum::<f64>() / bricks as f64;
        let fullest = draws.iter().copied().fold(f64::MIN, f64::max) - mean;
        most += 1.0 + fullest / each as f64;
        let drawn: f64 = draws
            .iter()
            .map(|it| (it - mean).powi(2) / deviation.powi(2))
            .sum();
        worse += usize::from(drawn > chi2);
    }
    (most / DRAWS as f64, worse * 1_000 / DRAWS)
}

/// A normal number: twelve uniform ones added up.
fn normal(random: &mut u64) -> f64 {
    let mut sum = -6.0;
    for _ in 0..12 {
        // SplitMix64 (Steele, Lea & Flood, 2014).
        *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        sum += (z >> 11) as f64 / (1_u64 << 53) as f64;
    }
    sum
}
