use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

fn leaf(bits: u64, depth: u8) -> Prefix {
    let first = bits.checked_shl(u32::from(64 - depth)).unwrap_or(0);
    Prefix::of(RoutingHash(first), depth)
}

/// The same, as a list: what was used last stands at the end.
#[derive(Default)]
struct Model(VecDeque<(Prefix, u32, usize)>);

impl Model {
    fn learn(&mut self, leaf: Prefix, value: u32, bytes: usize, bytes_max: usize) {
        self.0.retain(|(it, ..)| !it.overlaps(leaf));
        let bytes = LEAF_BYTES + bytes;
        if bytes > bytes_max {
            return;
        }
        while self.bytes() + bytes > bytes_max {
            self.0.pop_front();
        }
        self.0.push_back((leaf, value, bytes));
    }

    fn find(&mut self, hash: RoutingHash) -> Option<(Prefix, u32)> {
        let at = self.0.iter().position(|(it, ..)| it.contains(hash))?;
        let found = self.0.remove(at)?;
        self.0.push_back(found);
        Some((found.0, found.1))
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(.., bytes)| bytes).sum()
    }
}

proptest! {
    #[test]
    fn it_is_a_list_by_use_of_leaves_that_do_not_overlap(
        steps in proptest::collection::vec((0_u8..4, any::<u16>(), 0_u8..7, 0_usize..200), 1..300),
        bytes_max in 0_usize..2_000, target in any::<u64>(),
    ) {
        let mut cache = LeafCache::new(bytes_max);
        let mut model = Model::default();
        for (number, (step, bits, depth, bytes)) in steps.into_iter().enumerate() {
            let hash = RoutingHash(u64::from(bits) << 48);
            match step {
                0 => {
                    let found = cache.find(hash).map(|(leaf, value)| (leaf, *value));
                    prop_assert_eq!(found, model.find(hash));
                }
                1 => {
                    let was_there = model.find(hash).is_some();
                    prop_assert_eq!(cache.drop_at(hash), was_there);
                    if was_there {
                        model.0.pop_back();
                    }
                }
                _ => {
                    let leaf = Prefix::of(hash, depth);
                    cache.learn(leaf, number as u32, bytes);
                    model.learn(leaf, number as u32, bytes, bytes_max);
                }
            }
            prop_assert_eq!((cache.len(), cache.bytes()), (model.0.len(), model.bytes()));
            prop_assert!(cache.bytes() <= bytes_max);
            for graph in Graph::ALL {
                let target = RoutingHash(target);
                let distance = |leaf: Prefix| graph.distance(leaf, target);
                let told = cache.nearest(graph, target).map(|(leaf, _)| distance(leaf));
                let least = model.0.iter().map(|(leaf, ..)| distance(*leaf)).min();
                prop_assert_eq!(told, least, "{}", graph);
            }
        }
    }
}

#[test]
fn what_a_leaf_became_replaces_it() {
    let mut cache = LeafCache::new(10_000);
    cache.learn(leaf(1, 1), "whole", 0);
    cache.learn(leaf(0b10, 2), "left", 0);
    assert_eq!(
        cache.find(leaf(0b11, 2).first()),
        None,
        "the other half may be anywhere"
    );
    cache.learn(leaf(0b11, 2), "right", 0);
    assert_eq!(cache.len(), 2);
    cache.learn(leaf(1, 1), "merged", 0);
    let all: Vec<_> = cache.iter().collect();
    assert_eq!(all, [(leaf(1, 1), &"merged")]);
    cache.learn(leaf(0, 2), "first", 0);
    cache.set_max(10_000, 1);
    let all: Vec<_> = cache.iter().collect();
    assert_eq!(all, [(leaf(0, 2), &"first")], "what was used last stays");
    cache.learn(leaf(1, 2), "second", 0);
    assert_eq!(cache.len(), 1);
    cache.set_max(0, 1);
    assert!(cache.is_empty() && cache.bytes() == 0);
    cache.set_max(10_000, 0);
    cache.learn(leaf(1, 2), "none", 0);
    assert!(cache.is_empty());
}
