use super::{Cpu, cpu_of, stolen_of};

#[test]
fn processor_time_is_read_behind_an_odd_program_name() {
    let stat = "77 (a b) c) S 1 77 77 0 -1 4194304 100 0 0 0 250 125 50 25 20 0 4 0 100 200 300";
    let (own, ended) = cpu_of(stat, 100).unwrap();
    assert_eq!((own.user_s, own.system_s), (2.5, 1.25));
    assert_eq!((ended.user_s, ended.system_s), (0.5, 0.25));
    assert_eq!(cpu_of("77 (x) S 1", 100), None);
}

#[test]
fn the_exact_sum_is_shared_as_the_ticks_are() {
    let before = Cpu {
        user_s: 1.0,
        system_s: 1.0,
        exact_s: Some(2.0),
    };
    let after = Cpu {
        user_s: 1.3,
        system_s: 1.1,
        exact_s: Some(2.41),
    };
    let (user, system) = after.since(&before);
    assert!((user + system - 0.41).abs() < 1e-9);
    assert!((user / system - 3.0).abs() < 1e-9);
    let (user, system) = Cpu {
        exact_s: None,
        ..after
    }
    .since(&before);
    assert!((user - 0.3).abs() < 1e-9 && (system - 0.1).abs() < 1e-9);
}

#[test]
fn stolen_time_is_that_of_one_core_or_of_all() {
    let stat =
        "cpu  1 2 3 4 5 6 7 900 9 10\ncpu0 1 2 3 4 5 6 7 250 9 10\ncpu1 1 2 3 4 5 6 7 650 9 10\n";
    assert_eq!(stolen_of(stat, "cpu1", 100), Some(6.5));
    assert_eq!(stolen_of(stat, "cpu", 100), Some(9.0));
    assert_eq!(stolen_of(stat, "cpu2", 100), None);
    assert_eq!(stolen_of("cpu0 1 2 3", "cpu0", 100), None);
}

#[test]
fn less_than_a_tick_counts_too() {
    let before = Cpu {
        user_s: 1.0,
        system_s: 1.0,
        exact_s: Some(2.0),
    };
    let after = Cpu {
        exact_s: Some(2.004),
        ..before
    };
    let (user, system) = after.since(&before);
    assert!((user + system - 0.004).abs() < 1e-9);
}
