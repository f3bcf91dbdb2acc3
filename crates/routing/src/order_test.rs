use super::*;
use proptest::prelude::*;

fn order(from: &str, to: &str) -> Order {
    Order::new(&KeyBounds::new(from, to).unwrap())
}

/// The share of all numbers that are below a key's.
fn share(order: &Order, key: &str) -> f64 {
    order.place(key.as_bytes()) as f64 / u64::MAX as f64
}

#[test]
fn digits_between_bounds_are_spread_evenly() {
    let order = order("user:0000", "user:9999");
    for (key, expected) in [
        ("user:0000", 0.0),
        ("user:2500", 0.25),
        ("user:5000", 0.5),
        ("user:9998", 0.9998),
    ] {
        let got = share(&order, key);
        assert!((got - expected).abs() < 0.000_2, "{key}: {got}");
    }
    let mut counts = [0; 256];
    for number in 0..10_000 {
        let key = format!("user:{number:04}");
        counts[(order.place(key.as_bytes()) >> 56) as usize] += 1;
    }
    assert!(
        counts.iter().all(|count| (38..=41).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn hexadecimal_digits_are_two_kinds_and_nothing_between() {
    let order = order("00", "ff");
    assert_eq!(order.base, 16);
    let mut counts = [0; 16];
    for number in 0..65_536_u32 {
        counts[(order.place(format!("{number:04x}").as_bytes()) >> 60) as usize] += 1;
    }
    // The last key of the bounds is the last number, and so are the 255 that begin with it.
    assert!(
        counts.iter().all(|count| (3_900..=4_400).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn what_is_outside_of_the_bounds_is_at_an_end() {
    let order = order("user:1000", "user:8000");
    for low in ["", "a", "user", "user:", "user:0999", "user:/", "trip:5"] {
        assert_eq!(order.place(low.as_bytes()), 0, "{low}");
    }
    for high in ["user:8000", "user:9", "user:a", "user;", "z", "v:1"] {
        assert_eq!(order.place(high.as_bytes()), u64::MAX, "{high}");
    }
}

#[test]
fn bounds_that_differ_in_nothing_that_counts_are_of_no_use() {
    let deep = format!("a{}", "0".repeat(30));
    assert!(order("a", "b").is_useful());
    assert!(order("aa", "az").is_useful());
    // `0` is the lowest character, which is as good as none.
    assert!(!order("a", &deep).is_useful());
}

#[test]
fn first_bytes_are_the_number_of_keys_without_bounds() {
    assert_eq!(first_bytes(b""), 0);
    assert_eq!(first_bytes(b"\x01"), 1 << 56);
    assert_eq!(
        first_bytes(b"abcdefghijk"),
        u64::from_be_bytes(*b"abcdefgh")
    );
}

/// Data on disk rests on these values: they may never change.
#[test]
fn places_are_pinned_for_ever() {
    let pinned = |from: &str, to: &str, key: &str| order(from, to).place(key.as_bytes());
    assert_eq!(pinned("user:0000", "user:9999", "user:1234"), PINNED[0]);
    assert_eq!(pinned("a", "zz", "hello"), PINNED[1]);
    assert_eq!(pinned("00", "ff", "7f3a"), PINNED[2]);
}

const PINNED: [u64; 3] = [
    0x1f97_f381_85fa_6b29,
    0x46b5_8af4_81a2_c9ae,
    0x7fb9_b9b9_b9b9_b9b1,
];

fn keys() -> impl Strategy<Value = Vec<u8>> {
    let wild = prop::collection::vec(any::<u8>(), 0..12);
    let alike = "(user:)?[0-9a-cA:\\-]{0,12}".prop_map(String::into_bytes);
    prop_oneof![wild, alike]
}

proptest! {
    #[test]
    fn order_of_keys_is_kept(
        a in "[!-~]{1,12}", b in "[!-~]{1,12}", one in keys(), two in keys(),
    ) {
        prop_assume!(a != b);
        for (from, to) in [(a.clone().min(b.clone()), a.max(b)), ("user:0000".into(), "user:9999".into())] {
            let order = order(&from, &to);
            let (low, high) = (one.clone().min(two.clone()), one.clone().max(two.clone()));
            prop_assert!(order.place(&low) <= order.place(&high), "{from} {to}");
            prop_assert!(first_bytes(&low) <= first_bytes(&high));
        }
    }
}
