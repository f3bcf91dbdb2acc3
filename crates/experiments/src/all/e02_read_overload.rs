//! E2: reads beyond what the bricks can do.

use super::overload::{Overload, judge_overload, measure_overload};
use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::judgement::Judgement;
use crate::load::Work;
use crate::run::Run;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 2,
    title: "Reads past saturation",
    question: "Does read throughput stay what it is when more is asked than can be done?",
    original: Original {
        paper: Paper::Osdi,
        place: "section 5.1.1, figure 6",
        setup: "A hash table of several numbers of bricks, asked by more and more service instances, each with a closed pipeline of 100 reads.",
        found: "Throughput rises to a maximum and stays there; the overload waits in the bricks' queues, with higher latency. The text has no figures.",
    },
    scaled: "One brick on one core; more connections of 100 reads each, from 1 to 64, so up to 6,400 reads are outstanding. Valkey or Redis are asked the same in the same rounds.",
    expected: Expected::Reproduced,
    shape: "a flat top, and latency that grows with what waits",
    minutes: 2.0,
    measure,
    judge,
};

const OVERLOAD: Overload = Overload {
    work: Work {
        keys: 50_000,
        ..Work::DDS
    },
    connections: &[1, 2, 4, 8, 16, 32, 64],
    replicas: 1,
    has_peers: true,
};

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    measure_overload(run, &OVERLOAD)
}

fn judge(data: &Data) -> Judgement {
    judge_overload(data, "reads")
}

#[cfg(test)]
mod e02_read_overload_test {
    use super::judge;
    use crate::data::Data;

    fn data(rate: impl Fn(f64) -> f64, latency: impl Fn(f64) -> f64) -> Data {
        let mut data = Data::default();
        for outstanding in [100.0, 200.0, 400.0, 800.0, 1_600.0, 3_200.0, 6_400.0] {
            let measures = [
                ("ops_per_s", rate(outstanding)),
                ("p50_us", latency(outstanding)),
                ("cpu_us", 1.0),
            ];
            data.add("Brickyard", outstanding, 0, &measures);
        }
        data
    }

    #[test]
    fn a_flat_top_with_growing_latency_holds() {
        let judgement = judge(&data(|it| it.min(800.0) * 1e3, |it| it));
        assert!(judgement.holds(), "{:#?}", judgement.checks);
    }

    #[test]
    fn a_collapse_does_not() {
        let collapse = |it: f64| if it > 1_000.0 { 2e5 } else { 8e5 };
        assert!(!judge(&data(collapse, |it| it)).holds());
    }
}
