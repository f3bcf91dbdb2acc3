use super::*;
use brickyard_types::part::PartName;
use proptest::prelude::*;

#[test]
fn slots_are_those_of_redis_cluster() {
    // From `CLUSTER KEYSLOT` of redis-server 7.0.15.
    for (key, expected) in [
        (&b"foo"[..], 12_182),
        (b"bar", 5_061),
        (b"somekey", 11_058),
        (b"foo{hash_tag}", 2_515),
        (b"bar{hash_tag}", 2_515),
        (b"123456789", 12_739),
        (b"{user1000}.following", 3_443),
        (b"user:000000000001", 16_374),
    ] {
        let key_text = String::from_utf8_lossy(key);
        assert_eq!(slot(key), Slot(expected), "{key_text}");
    }
}

#[test]
fn hash_tags_follow_the_redis_cluster_specification() {
    for (key, tag) in [
        ("{user1000}.following", "user1000"),
        ("foo{}{bar}", "foo{}{bar}"),
        ("foo{{bar}}zap", "{bar"),
        ("foo{bar}{zap}", "bar"),
        ("foo{bar", "foo{bar"),
        ("foo}bar{zap}", "zap"),
        ("}{", "}{"),
        ("", ""),
        ("{}", "{}"),
        ("{a}", "a"),
    ] {
        assert_eq!(hash_tag(key.as_bytes()), tag.as_bytes(), "{key}");
    }
}

#[test]
fn routing_hash_begins_with_the_slot_and_ends_with_the_low_bytes_of_the_key_hash() {
    let hasher = KeyHasher::new(Hasher::Slot, 7);
    let hash = hasher.routing_hash(b"somekey");
    assert_eq!(hash.slot(), Slot(11_058));
    let below = hash.0 << SLOT_BITS >> 56;
    assert_eq!(below, hasher.key_hash(b"somekey") & 0xff);
}

#[test]
fn keys_with_one_tag_have_one_routing_hash() {
    let hasher = KeyHasher::new(Hasher::Slot, 7);
    let hash = hasher.routing_hash(b"{cart}:1");
    assert_eq!(hasher.routing_hash(b"{cart}:2"), hash);
    assert_eq!(hasher.routing_hash(b"cart"), hash);
    assert_ne!(hasher.key_hash(b"{cart}:1"), hasher.key_hash(b"{cart}:2"));
}

#[test]
fn another_seed_moves_keys_within_their_slot_only() {
    let (one, two) = (
        KeyHasher::new(Hasher::Slot, 1),
        KeyHasher::new(Hasher::Slot, 2),
    );
    assert_eq!(one.slot(b"somekey"), two.slot(b"somekey"));
    assert_ne!(one.routing_hash(b"somekey"), two.routing_hash(b"somekey"));
}

/// Data on disk and cursors in clients' hands rest on these values: they may never change.
#[test]
fn hashes_are_pinned_for_ever() {
    let hasher = KeyHasher::new(Hasher::Slot, 0x0123_4567_89ab_cdef);
    assert_eq!(hasher.key_hash(b""), PINNED[0]);
    assert_eq!(hasher.key_hash(b"bash"), PINNED[1]);
    assert_eq!(hasher.key_hash(&[b'x'; 100]), PINNED[2]);
    assert_eq!(hasher.routing_hash(b"bash").0, PINNED[3]);
}

const PINNED: [u64; 4] = [
    0x2767_04fb_72ae_58b8,
    0xc112_8999_66d4_865c,
    0xfde1_02e9_bcac_0216,
    0xa115_721b_519a_6624,
];

#[test]
fn key64_takes_integers_as_they_are_and_hashes_the_rest() {
    let hasher = KeyHasher::new(Hasher::Key64, 7);
    let key = 0x8000_0000_0000_0001_u64.to_be_bytes();
    assert_eq!(
        hasher.routing_hash(&key),
        RoutingHash(0x8000_0000_0000_0001)
    );
    assert_eq!(hasher.slot(&key), Slot(8_192));
    let long = hasher.routing_hash(b"nine bytes");
    let keyed = KeyHasher::new(Hasher::Keyed, 7);
    assert_eq!(long, keyed.routing_hash(b"nine bytes"));
    assert_eq!(hasher.slot(b"nine bytes"), long.slot());
    assert_eq!(
        hasher.routing_hash(b"{basket}:1"),
        hasher.routing_hash(b"{basket}:2")
    );
}

fn ordered(from: &str, to: &str) -> Hasher {
    Hasher::Ordered(Some(KeyBounds::new(from, to).unwrap()))
}

fn all_hashers() -> [Hasher; 5] {
    let bounds = ordered("user:0", "user:9");
    [
        Hasher::Slot,
        Hasher::Key64,
        Hasher::Keyed,
        Hasher::Ordered(None),
        bounds,
    ]
}

/// Data on disk rests on these values: they may never change.
#[test]
fn keyed_hashes_are_pinned_for_ever() {
    let hasher = KeyHasher::new(Hasher::Keyed, 0x0123_4567_89ab_cdef);
    assert_eq!(hasher.routing_hash(b"").0, KEYED[0]);
    assert_eq!(hasher.routing_hash(b"bash").0, KEYED[1]);
    assert_eq!(hasher.routing_hash(&[b'x'; 100]).0, KEYED[2]);
}

const KEYED: [u64; 3] = [
    0xf4b3_fee3_9780_2911,
    0x9c47_e70a_04b9_8c6c,
    0x9ab0_a521_214a_1975,
];

/// What is aimed at a slot of Redis Cluster, or at a partition of a table with another seed, is spread.
#[test]
fn keys_that_were_chosen_to_come_together_are_spread_by_a_keyed_hash() {
    let known = KeyHasher::new(Hasher::Keyed, 1);
    let secret = KeyHasher::new(Hasher::Keyed, 2);
    let partition = |hasher: &KeyHasher, key: &str| hasher.routing_hash(key.as_bytes()).0 >> 56;
    let of_one_slot: Vec<String> = (0..4_000_000)
        .map(|number| format!("k{number}"))
        .filter(|key| slot(key.as_bytes()) == Slot(7))
        .collect();
    let of_one_partition: Vec<String> = (0..60_000)
        .map(|number| format!("k{number}"))
        .filter(|key| partition(&known, key) == 7)
        .collect();
    for chosen in [of_one_slot, of_one_partition] {
        assert!(chosen.len() >= 200, "{}", chosen.len());
        let mut counts = [0_u32; 256];
        for key in &chosen {
            counts[partition(&secret, key) as usize] += 1;
        }
        let most = counts.iter().max().unwrap();
        assert!(*most <= 8, "{most} of {} in one of 256", chosen.len());
    }
}

#[test]
fn keys_in_order_go_by_their_owner_and_tags_count_for_nothing() {
    let hasher = KeyHasher::new(ordered("user:0000", "user:9999"), 7);
    let hash = |key: &str| hasher.routing_hash(key.as_bytes());
    assert!(hash("user:1000") < hash("user:1001"));
    assert!(
        hash("user:1000") < hash("user:1000{a}z"),
        "what follows counts"
    );
    let plain = KeyHasher::new(Hasher::Ordered(None), 7);
    assert_ne!(plain.routing_hash(b"a{t}"), plain.routing_hash(b"b{t}"));
    assert_eq!(plain.routing_hash(b"a"), RoutingHash(0x61 << 56));
}

#[test]
fn only_slots_bound_the_depth_of_splits() {
    for hasher in all_hashers() {
        let is_slot = hasher == Hasher::Slot;
        assert_eq!(hasher.follows_slots(), is_slot);
        let depth = hasher.split_depth_max();
        assert_eq!(depth, if is_slot { 14 } else { PARTITION_DEPTH_MAX });
        assert!(hasher.is_useful());
    }
    assert!(!ordered("a", "a0").is_useful());
}

#[test]
fn a_part_of_a_value_goes_where_its_key_goes() {
    for key in [&b"user:1"[..], b"{tag}1", b"", &7_u64.to_be_bytes()] {
        for kind in all_hashers() {
            let hasher = KeyHasher::new(kind, 7);
            let names = [1, 2].map(|number| {
                PartName {
                    key,
                    value: 5,
                    number,
                }
                .encode()
            });
            for name in &names {
                assert_eq!(hasher.slot(name), hasher.slot(key));
                assert_eq!(hasher.routing_hash(name), hasher.routing_hash(key));
            }
            // In the index each has its own place.
            assert_ne!(hasher.key_hash(&names[0]), hasher.key_hash(&names[1]));
        }
    }
}

/// The definition of the specification, without the search eight bytes at a time.
fn hash_tag_by_definition(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else {
        return key;
    };
    match key[open + 1..].iter().position(|&byte| byte == b'}') {
        None | Some(0) => key,
        Some(close) => &key[open + 1..open + 1 + close],
    }
}

proptest! {
    #[test]
    fn hash_tag_equals_its_definition(
        key in prop::collection::vec(prop::sample::select(vec![b'{', b'}', b'a', b'z', 0xfb, 0x7a]), 0..40)
    ) {
        prop_assert_eq!(hash_tag(&key), hash_tag_by_definition(&key));
    }

    #[test]
    fn slot_is_the_top_of_the_routing_hash(key in prop::collection::vec(any::<u8>(), 0..40), seed: u64) {
        for hasher in all_hashers() {
            let hasher = KeyHasher::new(hasher, seed);
            prop_assert_eq!(hasher.routing_hash(&key).slot(), hasher.slot(&key));
        }
    }
}
