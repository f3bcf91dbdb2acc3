use super::Random;

#[test]
fn one_seed_gives_one_stream() {
    let first: Vec<u64> = std::iter::repeat_with({
        let mut random = Random::new(7);
        move || random.bits()
    })
    .take(100)
    .collect();
    let mut random = Random::new(7);
    assert!(first.iter().all(|bits| *bits == random.bits()));
    assert_ne!(Random::new(8).bits(), first[0]);
}

#[test]
fn below_stays_below_and_reaches_every_value() {
    let mut random = Random::new(1);
    let mut seen = [0u32; 10];
    for _ in 0..10_000 {
        seen[random.below(10) as usize] += 1;
    }
    assert!(
        seen.iter().all(|count| (800..1200).contains(count)),
        "{seen:?}"
    );
    assert_eq!(random.below(0), 0);
}

#[test]
fn waiting_times_have_the_asked_mean() {
    let mut random = Random::new(3);
    let sum: f64 = (0..100_000).map(|_| random.waiting_time(50.0)).sum();
    let mean = sum / 100_000.0;
    assert!((49.0..51.0).contains(&mean), "{mean}");
}
