use super::{Distribution, KeyPicker, KeySpace};
use crate::random::Random;

fn name(number: u64, bytes: usize) -> String {
    let mut name = vec![b'?'; bytes];
    KeySpace::write_name(number, &mut name);
    String::from_utf8(name).unwrap()
}

fn counts(distribution: Distribution, count: u64, draws: u64) -> Vec<u64> {
    let space = KeySpace {
        count,
        bytes: 16,
        distribution,
    };
    let mut picker = KeyPicker::new(&space, 0, 1);
    let mut random = Random::new(42);
    let mut counts = vec![0; count as usize];
    for _ in 0..draws {
        counts[picker.pick(&mut random) as usize] += 1;
    }
    counts
}

#[test]
fn names_have_the_asked_length_and_one_form() {
    assert_eq!(name(0, 16), "key:000000000000");
    assert_eq!(name(999_999, 16), "key:000000999999");
    assert_eq!(name(7, 3), "007");
    assert_eq!(name(1, 20), "key:0000000000000001");
}

#[test]
fn a_space_that_does_not_fit_its_keys_is_refused() {
    let space = KeySpace {
        count: 1001,
        bytes: 3,
        distribution: Distribution::Uniform,
    };
    let message = space.validate().unwrap_err().to_string();
    assert!(message.contains("need 4 digits"), "{message}");
    assert!(
        KeySpace {
            count: 1000,
            ..space
        }
        .validate()
        .is_ok()
    );
    assert!(KeySpace { count: 0, ..space }.validate().is_err());
}

#[test]
fn sequential_shares_cover_the_space_once() {
    let space = KeySpace {
        count: 10,
        bytes: 16,
        distribution: Distribution::Sequential,
    };
    let mut random = Random::new(1);
    let mut seen: Vec<u64> = (0..2)
        .flat_map(|share| {
            let mut picker = KeyPicker::new(&space, share, 2);
            (0..5).map(|_| picker.pick(&mut random)).collect::<Vec<_>>()
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..10).collect::<Vec<_>>());
}

#[test]
fn uniform_draws_are_flat() {
    let counts = counts(Distribution::Uniform, 100, 100_000);
    assert!(
        counts.iter().all(|count| (850..1150).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn zipf_draws_follow_the_power_law() {
    for exponent in [0.5, 0.99, 1.0, 1.5] {
        let counts = counts(Distribution::Zipf { exponent }, 1000, 400_000);
        let weights: Vec<f64> = (1..=1000)
            .map(|rank| f64::from(rank).powf(-exponent))
            .collect();
        let sum: f64 = weights.iter().sum();
        for rank in [0usize, 1, 2, 9] {
            let expected = 400_000.0 * weights[rank] / sum;
            let got = counts[rank] as f64;
            // Four standard deviations and a little for the rounding.
            let slack = 4.0 * expected.sqrt() + 2.0;
            assert!(
                (got - expected).abs() < slack,
                "{exponent} {rank}: {got} {expected}"
            );
        }
        assert_eq!(counts.iter().sum::<u64>(), 400_000);
    }
}

#[test]
fn distributions_are_read_from_words() {
    assert_eq!("uniform".parse(), Ok(Distribution::Uniform));
    assert_eq!("zipf:1.2".parse(), Ok(Distribution::Zipf { exponent: 1.2 }));
    assert!(
        "zipf:abc"
            .parse::<Distribution>()
            .unwrap_err()
            .contains("zipf:0.99")
    );
    assert!(
        "gauss"
            .parse::<Distribution>()
            .unwrap_err()
            .contains("uniform")
    );
}
