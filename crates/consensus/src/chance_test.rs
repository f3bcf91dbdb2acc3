use super::*;

/// As published: SplitMix64's first numbers, of the seeds 0 and 1.
#[test]
fn mix_is_that_of_split_mix() {
    assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(mix(1), 0x910a_2dec_8902_5cc1);
}

#[test]
fn timeouts_are_spread_and_hang_on_node_and_term() {
    let timeouts = |id| (0..100).map(move |term| election_timeout(1, id, term, 10));
    for timeout in 10..20 {
        assert!(timeouts(1).any(|it| it == timeout), "{timeout}");
    }
    let same = timeouts(1).zip(timeouts(2)).filter(|(a, b)| a == b);
    assert!(same.count() < 30);
    assert_eq!(election_timeout(1, 1, 1, 0), 1);
}
