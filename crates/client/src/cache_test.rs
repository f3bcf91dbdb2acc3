use super::*;

const LEASE: Duration = Duration::from_millis(100);

fn at(millis: u64) -> Instant {
    Instant(millis * 1_000_000)
}

/// Asks for the key then.
fn ask(cache: &mut Cache, key: &str, now: u64) -> Asked {
    cache.look(key.as_bytes(), at(now)).unwrap_err()
}

/// Asks for it then, and has it at once.
fn keep(cache: &mut Cache, key: &str, value: &str, now: u64) {
    let asked = ask(cache, key, now);
    let value = Some(value.as_bytes());
    cache.fill(key.as_bytes(), asked, value, LEASE, at(now));
}

/// What is served then.
fn served(cache: &mut Cache, key: &str, now: u64) -> Option<String> {
    let value = cache.look(key.as_bytes(), at(now)).ok()?;
    Some(value.map_or_else(|| "nothing".to_owned(), |it| String::from_utf8(it).unwrap()))
}

#[test]
fn a_value_is_served_for_nine_tenths_of_its_lease_counted_from_the_question() {
    let mut cache = Cache::new(10_000);
    let asked = ask(&mut cache, "k", 0);
    cache.fill(b"k", asked, Some(b"1"), LEASE, at(50));
    assert_eq!(served(&mut cache, "k", 89).as_deref(), Some("1"));
    assert_eq!(served(&mut cache, "k", 90), None);
    let counts = cache.counts();
    assert_eq!((counts.hits, counts.misses), (1, 2));
}

#[test]
fn that_there_is_no_such_key_is_kept_too() {
    let mut cache = Cache::new(10_000);
    let asked = ask(&mut cache, "k", 0);
    cache.fill(b"k", asked, None, LEASE, at(1));
    assert_eq!(served(&mut cache, "k", 2).as_deref(), Some("nothing"));
}

#[test]
fn what_is_recalled_is_not_served_nor_what_was_asked_for_before() {
    let mut cache = Cache::new(10_000);
    keep(&mut cache, "k", "old", 0);
    cache.recall(b"k", at(1));
    assert_eq!(served(&mut cache, "k", 1), None);
    let before = ask(&mut cache, "k", 1);
    cache.recall(b"k", at(2));
    let after = ask(&mut cache, "k", 2);
    cache.fill(b"k", before, Some(b"old"), LEASE, at(3));
    assert_eq!(served(&mut cache, "k", 3), None);
    cache.fill(b"k", after, Some(b"new"), LEASE, at(3));
    cache.fill(b"k", before, Some(b"old"), LEASE, at(4));
    assert_eq!(served(&mut cache, "k", 4).as_deref(), Some("new"));
    cache.recall(b"other", at(5));
    assert_eq!(served(&mut cache, "k", 5).as_deref(), Some("new"));
}

#[test]
fn recalls_are_remembered_for_as_long_as_an_answer_could_matter() {
    let mut cache = Cache::new(10_000);
    let asked = ask(&mut cache, "k", 0);
    cache.recall(b"k", at(1));
    cache.recall(b"j", at(500));
    cache.fill(b"k", asked, Some(b"old"), Duration::from_secs(9), at(899));
    assert_eq!(served(&mut cache, "k", 899), None);
    cache.recall(b"j", at(1002));
    assert_eq!(cache.recalled.len(), 1, "one of k is forgotten");
    cache.fill(b"k", asked, Some(b"old"), Duration::from_secs(9), at(1002));
    assert_eq!(served(&mut cache, "k", 1002), None, "asked too long ago");
    cache.recall(b"i", at(5000));
    assert_eq!((cache.recalled.len(), cache.recalls.len()), (1, 1));
}

#[test]
fn what_the_client_writes_it_asks_for_again() {
    let mut cache = Cache::new(10_000);
    keep(&mut cache, "k", "old", 0);
    let before = ask(&mut cache, "j", 0);
    cache.forget(b"k", at(1));
    cache.forget(b"j", at(1));
    assert_eq!(served(&mut cache, "k", 1), None);
    cache.fill(b"j", before, Some(b"old"), LEASE, at(2));
    assert_eq!(served(&mut cache, "j", 2), None);
    assert_eq!(cache.counts().recalls, 0);
}

#[test]
fn no_lease_is_no_entry() {
    let mut cache = Cache::new(10_000);
    let asked = ask(&mut cache, "k", 0);
    cache.fill(b"k", asked, Some(b"1"), Duration::ZERO, at(0));
    assert_eq!(cache.counts().entries, 0);
}

#[test]
fn bytes_are_bounded_and_what_is_used_stays() {
    let mut cache = Cache::new(10 * (ENTRY_BYTES + 10));
    for key in 0..10 {
        keep(&mut cache, &format!("key-{key}"), "1234", 0);
    }
    assert_eq!(cache.counts().entries, 10);
    assert!(served(&mut cache, "key-0", 1).is_some());
    keep(&mut cache, "key-x", "1234", 1);
    assert!(served(&mut cache, "key-0", 1).is_some(), "it was used");
    assert!(served(&mut cache, "key-1", 1).is_none());
    keep(&mut cache, "large", &"x".repeat(20_000), 1);
    assert_eq!(cache.counts().entries, 10, "it would not fit at all");
    keep(&mut cache, "big", &"x".repeat(5 * ENTRY_BYTES), 1);
    let counts = cache.counts();
    assert!(counts.bytes <= 10 * (ENTRY_BYTES + 10), "{counts:?}");
    assert!(served(&mut cache, "big", 2).is_some());
}

#[test]
fn what_is_read_again_and_again_takes_one_place() {
    let mut cache = Cache::new(10_000);
    for round in 0..1000 {
        keep(&mut cache, "k", "1", round * 100);
        cache.recall(b"k", at(round * 100 + 1));
        keep(&mut cache, "k", "2", round * 100 + 2);
    }
    assert_eq!(cache.counts().entries, 1);
    assert!(cache.order.len() <= 20, "{} places", cache.order.len());
    assert!(cache.recalls.len() <= 20, "{} recalls", cache.recalls.len());
}

#[test]
fn recalls_are_bounded_and_what_was_asked_for_before_any_of_them_is_not_kept() {
    let mut cache = Cache::new(100_000);
    let before = ask(&mut cache, "k", 0);
    for number in 0..=RECALLS_MAX {
        cache.recall(format!("other:{number}").as_bytes(), at(1));
    }
    assert!(cache.recalls.is_empty() && cache.recalled.is_empty());
    cache.fill(b"k", before, Some(b"old"), LEASE, at(2));
    assert_eq!(
        served(&mut cache, "k", 2),
        None,
        "it may have been among them"
    );
    keep(&mut cache, "k", "new", 3);
    assert_eq!(served(&mut cache, "k", 4).as_deref(), Some("new"));
}
