use super::{Load, Rounds, Sample, echo_bytes};
use brickyard_bench::Operation;

fn sample(user_us: f64, system_us: f64, count_per_s: f64) -> Sample {
    Sample {
        user_us,
        system_us,
        count_per_s,
        ..Sample::default()
    }
}

#[test]
fn rounds_are_summed_up_by_the_quietest_and_the_median() {
    let rounds = Rounds(vec![
        sample(2.0, 2.0, 10.0),
        sample(1.0, 2.0, 30.0),
        sample(9.0, 0.0, 20.0),
    ]);
    assert_eq!(rounds.quietest().count_per_s, 30.0);
    assert_eq!(rounds.median(Sample::cpu_us), 4.0);
    assert_eq!(rounds.best_per_s(), 30.0);
    assert_eq!(
        Rounds(vec![sample(1.0, 0.0, 1.0), sample(2.0, 0.0, 1.0)]).median(Sample::cpu_us),
        1.5
    );
}

#[test]
fn the_echo_server_knows_the_length_of_requests() {
    let load = Load {
        keys: 10,
        value_bytes: 150,
        overwrites: 0,
    };
    let get = "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n".len();
    assert_eq!(echo_bytes(load, Operation::Get), (get, 150));
    assert_eq!(
        echo_bytes(load, Operation::Set),
        (get + "$150\r\n".len() + 152, 0)
    );
}
