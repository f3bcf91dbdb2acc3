use super::*;

const LARD: Lard = Lard { low: 10, high: 20 };

fn members(loads: &[usize]) -> Vec<Candidate> {
    (1..)
        .zip(loads)
        .map(|(number, &load)| Candidate {
            identity: mix(number),
            load,
            is_up: true,
        })
        .collect()
}

#[test]
fn keys_spread_evenly_over_the_members_and_stay_there() {
    let mut counts = [0; 3];
    for key in 0..30_000_u64 {
        let chosen = LARD.choose(mix(key), &members(&[0, 0, 0])).expect("all up");
        let busier = LARD
            .choose(mix(key), &members(&[20, 20, 20]))
            .expect("all up");
        assert_eq!(chosen, busier, "load below the bound moves nothing");
        counts[chosen] += 1;
    }
    assert!(
        counts.iter().all(|count| (9_500..10_500).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn a_read_leaves_an_overloaded_replica_only_for_one_with_capacity() {
    let key = (0..)
        .map(mix)
        .find(|key| LARD.choose(*key, &members(&[0, 0])) == Some(0));
    let key = key.expect("some key prefers the first");
    assert_eq!(LARD.choose(key, &members(&[21, 9])), Some(1));
    assert_eq!(
        LARD.choose(key, &members(&[21, 10])),
        Some(0),
        "the other is not idle"
    );
    assert_eq!(
        LARD.choose(key, &members(&[40, 30])),
        Some(1),
        "twice the bound is too much"
    );
    assert_eq!(
        LARD.choose(key, &members(&[40, 40])),
        Some(0),
        "moving would gain nothing"
    );
}

#[test]
fn losing_a_member_moves_its_keys_alone() {
    for key in 0..1_000_u64 {
        let mut three = members(&[0, 0, 0]);
        let before = LARD.choose(mix(key), &three).expect("all up");
        three[1].is_up = false;
        let after = LARD.choose(mix(key), &three).expect("two are up");
        assert!(after != 1 && (before == 1 || before == after));
        three.iter_mut().for_each(|member| member.is_up = false);
        assert_eq!(LARD.choose(mix(key), &three), None);
    }
}
