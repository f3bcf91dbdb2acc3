use super::*;
use crate::bucket::BUCKET_BYTES;
use std::collections::BTreeSet;

/// Records are numbers; here are their hashes.
struct Numbers(Vec<KeyHash>);

impl Hashes for Numbers {
    fn hash(&self, reference: RecordRef) -> KeyHash {
        self.0[reference.0 as usize]
    }

    fn prefetch(&self, _: RecordRef) {}
}

fn spread(count: u64) -> Numbers {
    let mix = |number: u64| {
        let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        KeyHash((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    };
    Numbers((0..count).map(mix).collect())
}

fn place_of(index: &Index, pool: &Pool, numbers: &Numbers, number: u32) -> Option<Place> {
    let is_it = |reference| (reference == RecordRef(number)).then_some(());
    index
        .find(pool, numbers.hash(RecordRef(number)), is_it)
        .map(|(place, ())| place)
}

fn check(index: &Index, pool: &Pool, numbers: &Numbers) {
    index.check(pool, |reference, prefix, depth| {
        let hash = numbers.hash(reference);
        assert_eq!(hash.prefix(depth), prefix);
        hash.tag()
    });
}

#[test]
fn index_grows_and_shrinks_by_single_buckets() {
    let numbers = spread(5000);
    let (mut index, mut pool) = (Index::default(), Pool::new());
    for number in 0..5000 {
        let hash = numbers.hash(RecordRef(number));
        let buckets = index.buckets();
        index.insert(&mut pool, hash, RecordRef(number), &numbers);
        assert!(index.buckets() <= buckets + 1);
        if number % 97 == 0 {
            check(&index, &pool, &numbers);
        }
    }
    assert!(index.buckets() >= 5000 / BUCKET_SLOTS as u32);
    for number in 0..5000 {
        let place = place_of(&index, &pool, &numbers, number).unwrap();
        let buckets = index.buckets();
        index.remove(&mut pool, numbers.hash(RecordRef(number)), place);
        assert!(index.buckets() + 1 >= buckets);
        assert_eq!(place_of(&index, &pool, &numbers, number), None);
        if number % 97 == 0 {
            check(&index, &pool, &numbers);
            let last = place_of(&index, &pool, &numbers, 4999);
            assert!(number == 4999 || last.is_some());
        }
    }
    assert_eq!((index.entries(), index.pages.len()), (0, 0));
    // All that was taken is free again: a second index makes do with it.
    let memory = pool.memory();
    for number in 0..5000 {
        let hash = numbers.hash(RecordRef(number));
        index.insert(&mut pool, hash, RecordRef(number), &numbers);
    }
    assert!(pool.memory() <= memory);
}

#[test]
fn buckets_are_visited_in_the_order_of_hashes() {
    let numbers = spread(3000);
    let (mut index, mut pool) = (Index::default(), Pool::new());
    for number in 0..3000 {
        index.insert(
            &mut pool,
            numbers.hash(RecordRef(number)),
            RecordRef(number),
            &numbers,
        );
    }
    let mut seen = BTreeSet::new();
    let mut position = Some(KeyHash(0));
    while let Some(from) = position {
        let mut hashes = Vec::new();
        let next = index.visit_bucket(&pool, from, |reference| {
            assert!(seen.insert(reference));
            hashes.push(numbers.hash(reference));
        });
        assert!(hashes.iter().all(|&hash| hash >= from));
        assert!(
            hashes
                .iter()
                .all(|&hash| next.is_none_or(|next| hash < next))
        );
        position = next;
    }
    assert_eq!(seen.len(), 3000);
}

#[test]
fn records_with_one_hash_are_all_found() {
    // More than any chain that chance makes, and neither splitting nor merging can part them.
    let numbers = Numbers(vec![KeyHash(0xdead_beef_0123_4567); 300]);
    let (mut index, mut pool) = (Index::default(), Pool::new());
    for number in 0..300 {
        index.insert(
            &mut pool,
            numbers.hash(RecordRef(0)),
            RecordRef(number),
            &numbers,
        );
    }
    check(&index, &pool, &numbers);
    for number in (0..300).rev().step_by(2).chain((0..300).step_by(2)) {
        let place = place_of(&index, &pool, &numbers, number).unwrap();
        index.remove(&mut pool, numbers.hash(RecordRef(0)), place);
        check(&index, &pool, &numbers);
    }
    assert_eq!(index.entries(), 0);
}

#[test]
fn taking_buckets_takes_every_reference_once() {
    let numbers = spread(2000);
    let (mut index, mut pool) = (Index::default(), Pool::new());
    for number in 0..2000 {
        index.insert(
            &mut pool,
            numbers.hash(RecordRef(number)),
            RecordRef(number),
            &numbers,
        );
    }
    let mut taken = BTreeSet::new();
    while index.take_bucket(&mut pool, |reference| assert!(taken.insert(reference))) {}
    assert_eq!(taken.len(), 2000);
    assert_eq!(index.entries(), 0);
}

#[test]
fn small_index_takes_one_page() {
    let numbers = spread(30);
    let (mut index, mut pool) = (Index::default(), Pool::new());
    for number in 0..30 {
        index.insert(
            &mut pool,
            numbers.hash(RecordRef(number)),
            RecordRef(number),
            &numbers,
        );
    }
    assert!(pool.memory() < 2 * PAGE_BUCKETS as usize * BUCKET_BYTES);
}
