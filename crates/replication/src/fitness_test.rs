use super::*;
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::{BrickId, Incarnation};

const TICK: Duration = Duration::from_millis(100);

struct Bench {
    fitness: Fitness,
    config: ReplicatorConfig,
    now: Instant,
    log: Progress,
}

impl Bench {
    fn new() -> Self {
        let member = Member {
            node: NodeId(1),
            brick: BrickId(0),
        };
        let me = Replica {
            member,
            incarnation: Incarnation(1),
        };
        Self {
            fitness: Fitness::default(),
            config: ReplicatorConfig::new(me),
            now: Instant(1_000_000_000_000),
            log: Progress {
                ordered: LogMark(0),
                appended: LogMark(0),
                synced: LogMark(0),
            },
        }
    }

    fn tick(&mut self) -> bool {
        self.now = self.now + TICK;
        let (now, log) = (self.now, self.log);
        self.fitness.look(now, TICK, log, &self.config)
    }

    /// Ticks until that is so; after how many.
    fn until(&mut self, is_so: impl Fn(&Fitness, Instant) -> bool) -> u32 {
        for ticks in 1..10_000 {
            self.tick();
            if is_so(&self.fitness, self.now) {
                return ticks;
            }
        }
        panic!("it does not come to be so: {:?}", self.fitness);
    }

    /// The disk does nothing until the log is stuck, and works again; how many ticks the brick does not learn after that.
    fn stall(&mut self) -> u32 {
        self.log.ordered.0 += 1;
        self.until(|it, _| it.is_stuck());
        self.log.appended = self.log.ordered;
        self.until(Fitness::may_learn)
    }
}

#[test]
fn a_log_that_stands_still_is_stuck_after_a_while() {
    let mut bench = Bench::new();
    bench.log.ordered = LogMark(1);
    let ticks = bench.until(|it, _| it.is_stuck());
    let waited = TICK * (ticks - 1);
    assert!(
        waited >= bench.config.suspect_after * 3 / 4 && waited < bench.config.suspect_after,
        "before others find that"
    );
    // As long as it stands still nothing changes that.
    for _ in 0..1_000 {
        let is_news = bench.tick();
        assert!(!is_news && bench.fitness.is_stuck());
    }
    // A member goes on at once, a learner after a pause.
    bench.log.appended = LogMark(1);
    assert!(bench.until(|it, _| !it.is_stuck()) <= 4);
    assert!(!bench.fitness.may_learn(bench.now));
}

#[test]
fn a_sync_that_nobody_waits_for_is_not_missed() {
    let mut bench = Bench::new();
    bench.log.ordered = LogMark(1);
    bench.log.appended = LogMark(1);
    for _ in 0..1_000 {
        bench.tick();
        assert!(!bench.fitness.is_stuck());
    }
    bench.fitness.sync_wanted = LogMark(1);
    bench.until(|it, _| it.is_stuck());
}

#[test]
fn a_log_that_refuses_is_stuck_at_once_and_does_not_wait_for_what_it_refused() {
    let mut bench = Bench::new();
    bench.log.ordered = LogMark(1);
    bench.fitness.on_refused(bench.now, LogMark(1));
    assert!(bench.fitness.is_stuck());
    assert!(bench.until(|it, _| !it.is_stuck()) <= 3);
    for _ in 0..100 {
        bench.tick();
        assert!(!bench.fitness.is_stuck());
    }
}

#[test]
fn pauses_double_and_are_forgotten() {
    let mut bench = Bench::new();
    let pauses: Vec<u32> = (0..8).map(|_| bench.stall()).collect();
    assert!(
        pauses.windows(2).all(|pair| pair[0] <= pair[1]),
        "{pauses:?}"
    );
    assert!(pauses[1] > pauses[0] * 3 / 2, "{pauses:?}");
    assert!(TICK * pauses[7] <= PAUSE_MAX);
    for _ in 0..FORGOTTEN.as_millis() / TICK.as_millis() {
        bench.tick();
    }
    assert_eq!(bench.stall(), pauses[0]);
}

/// A full disk refuses now and then what the brick writes for itself.
#[test]
fn refusals_of_one_time_make_one_pause() {
    let mut bench = Bench::new();
    for batch in 1..30 {
        bench.fitness.on_refused(bench.now, LogMark(batch));
        for _ in 0..5 {
            bench.tick();
        }
    }
    assert!(TICK * bench.until(Fitness::may_learn) <= PAUSE_MIN);
}
