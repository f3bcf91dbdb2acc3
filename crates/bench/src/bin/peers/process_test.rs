use super::{Cpu, cpu_of};

#[test]
fn processor_time_is_read_behind_an_odd_program_name() {
    let stat = "77 (a b) c) S 1 77 77 0 -1 4194304 100 0 0 0 250 125 0 0 20 0 4 0 100 200 300";
    assert_eq!(
        cpu_of(stat, 100),
        Some(Cpu {
            user_s: 2.5,
            system_s: 1.25
        })
    );
    assert_eq!(cpu_of("77 (x) S 1", 100), None);
}
