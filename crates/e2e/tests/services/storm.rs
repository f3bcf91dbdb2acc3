//! What goes wrong while a service is used: the failures of `brickyard torture`, and those of the service's own instances.
//!
//! In:  a cluster, two instances, people who use them on threads of their own. Out: all of it well again, and nobody at work any more.
//!
//! Every storm has the failures that are over at once; those that last go round among the services, so that each is there once in a run of the
//! suite. `BRICKYARD_E2E_STORM=1` has all of them in each.

use crate::service::Service;
use brickyard_e2e::cluster::{Cluster, LEASE};
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use brickyard_e2e::skip::number_from_environment;
use brickyard_torture::{BusyCores, Failure};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{ScopedJoinHandle, scope, sleep};
use std::time::{Duration, Instant};

/// What must be acknowledged between two failures, and after the last one.
const REQUESTS: u64 = 60;

/// Far less than a fail-over takes.
const HASTE_MS: &str = "250";

/// How often a flapping link changes.
const FLAPS_EVERY: Duration = Duration::from_millis(500);

/// The services that have storms.
const SERVICES: [&str; 4] = ["keystore", "presence", "recommender", "site"];

/// One kind of harm.
#[derive(Clone, Copy, Debug)]
enum Harm {
    /// To the cluster.
    Cluster(Failure),
    /// kill -9 of an instance of the service.
    KillService,
    /// SIGSTOP of one, for longer than a fail-over takes.
    PauseService,
}

/// What one service's storm has.
fn harms(name: &str, cluster: &Cluster) -> Vec<Harm> {
    let is_whole = number_from_environment("BRICKYARD_E2E_STORM", 0) > 0;
    let place = SERVICES.iter().position(|it| *it == name);
    let place = place.unwrap_or_else(|| panic!("{name} is in no list of services"));
    let failures = Failure::ALL.into_iter().enumerate();
    let failures = failures.filter(|(at, failure)| {
        let is_brief = matches!(
            failure,
            Failure::Kill | Failure::KillLeader | Failure::KillAll | Failure::Pause
        );
        is_whole || is_brief || at % SERVICES.len() == place
    });
    let failures = failures.map(|(_, failure)| failure);
    let failures = failures.filter(|failure| {
        (cluster.network().is_some() || !failure.is_cut())
            && (!cluster.disks().is_empty() || !failure.is_disk())
    });
    let own = [Harm::KillService, Harm::PauseService];
    own.into_iter().chain(failures.map(Harm::Cluster)).collect()
}

/// One storm at a time: each is three nodes, two instances and all who use them.
static TURN: Mutex<()> = Mutex::new(());

/// See the module.
pub(crate) struct Storm {
    pub(crate) cluster: Cluster,
    pub(crate) services: Vec<Service>,
    pub(crate) seed: u64,
    name: &'static str,
    replicas: usize,
    _turn: MutexGuard<'static, ()>,
}

/// How the people who use a service hear of its end, and tell that they get on.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    acknowledged: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    pub(crate) fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    fn wait_for_more(&self) {
        let begin = self.count();
        wait_for("requests that are acknowledged", || {
            (self.count() >= begin + REQUESTS || self.is_over()).then_some(())
        });
    }
}

/// Ends everybody's work, also where it ends with a panic: others would wait for them for ever.
struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

impl Storm {
    /// Three nodes, a table of so many replicas, and two instances.
    pub(crate) fn new(name: &'static str, replicas: usize, arguments: &[&str]) -> Self {
        // That another test has failed does not matter.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = number_from_environment("BRICKYARD_E2E_SEED", 1);
        println!("{name}: BRICKYARD_E2E_SEED={seed}");
        let cluster = Cluster::start_frail(3, 1, &[]);
        let copies = replicas.to_string();
        cluster.create_table(name, &["REPLICAS", &copies, "PARTITIONS", "16"]);
        cluster.wait_until_whole(name, replicas);
        // The first one waits for a fail-over, and the second tells those who ask that it is not done, or not known to be.
        let hasty = [arguments, &["--deadline", HASTE_MS]].concat();
        let services = [arguments, &hasty].map(|it| Service::start(name, &cluster, it));
        Self {
            cluster,
            services: services.into(),
            seed,
            name,
            replicas,
            _turn: turn,
        }
    }

    /// Where the instances listen.
    pub(crate) fn ports(&self) -> [u16; 2] {
        [self.services[0].port(), self.services[1].port()]
    }

    /// Lets so many people work, who are told their number and a seed of their own, and makes each failure once.
    pub(crate) fn rage<T: Send>(
        &mut self,
        people: usize,
        work: impl Fn(usize, Random, &Progress) -> T + Sync,
    ) -> Vec<T> {
        let progress = Progress::default();
        let mut random = Random::new(self.seed);
        scope(|scope| {
            let workers: Vec<_> = (0..people)
                .map(|number| {
                    let (random, progress, work) = (Random::new(random.bits()), &progress, &work);
                    scope.spawn(move || {
                        // One who panics ends it for all: what must not be was seen.
                        let _end = End(progress);
                        work(number, random, progress)
                    })
                })
                .collect();
            let end = End(&progress);
            progress.wait_for_more();
            let mut left = harms(self.name, &self.cluster);
            while !left.is_empty() && !progress.is_over() {
                let harm = left.swap_remove(random.below(left.len()));
                println!(
                    "{}: {harm:?} after {} requests",
                    self.name,
                    progress.count()
                );
                self.do_harm(harm, &mut random, &progress);
                self.cluster.wait_until_formed();
                self.cluster.wait_until_whole(self.name, self.replicas);
                progress.wait_for_more();
            }
            drop(end);
            println!("{}: {} requests", self.name, progress.count());
            let seen = workers.into_iter().map(ScopedJoinHandle::join);
            let seen: Result<Vec<T>, _> = seen.collect();
            seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn do_harm(&mut self, harm: Harm, random: &mut Random, progress: &Progress) {
        let at = random.below(self.services.len());
        match harm {
            Harm::Cluster(failure) => self.harm_cluster(failure, random.bits(), progress),
            Harm::KillService => {
                self.services[at].kill();
                progress.wait_for_more();
                self.services[at].launch();
            }
            Harm::PauseService => {
                self.services[at].signal("STOP");
                sleep(3 * LEASE);
                self.services[at].signal("CONT");
            }
        }
    }

    fn harm_cluster(&mut self, failure: Failure, draw: u64, progress: &Progress) {
        let (nodes, leader) = (self.cluster.len(), self.cluster.leader());
        let at = failure.victim(leader, nodes, draw);
        match failure {
            Failure::Kill | Failure::KillLeader => {
                self.cluster.kill(at);
                progress.wait_for_more();
                self.cluster.launch(at);
            }
            Failure::Flap => {
                self.cluster.kill(at);
                self.cluster.launch(at);
            }
            Failure::KillAll => {
                (0..nodes).for_each(|at| self.cluster.kill(at));
                (0..nodes).for_each(|at| self.cluster.launch(at));
            }
            Failure::Pause => {
                self.cluster.signal(at, "STOP");
                // The pause itself is what is tried.
                sleep(3 * LEASE);
                self.cluster.signal(at, "CONT");
            }
            Failure::RollingRestart => {
                for at in 0..nodes {
                    self.cluster.stop(at);
                    self.cluster.launch(at);
                    self.cluster.wait_until_formed();
                    self.cluster.wait_until_whole(self.name, self.replicas);
                }
            }
            Failure::FullLoad => {
                let _busy = BusyCores::begin();
                progress.wait_for_more();
            }
            Failure::Cut
            | Failure::CutFrom
            | Failure::CutTo
            | Failure::CutLink
            | Failure::CutLeaderLink
            | Failure::FlappingLink
            | Failure::Loss => {
                let network = self.cluster.network().expect("a network that can be cut");
                let end = Instant::now() + failure.lasts(LEASE);
                network.harm(failure, at, leader, draw);
                while failure == Failure::FlappingLink && Instant::now() < end {
                    sleep(FLAPS_EVERY);
                    network.heal();
                    sleep(FLAPS_EVERY);
                    network.harm(failure, at, leader, draw);
                }
                sleep(end.saturating_duration_since(Instant::now()));
                progress.wait_for_more();
                network.heal();
            }
            Failure::DiskFull
            | Failure::DiskStall
            | Failure::DiskSlow
            | Failure::LeaderDiskFull
            | Failure::LeaderDiskStall => {
                let disk = &self.cluster.disks()[at];
                let harm = disk.harm(failure).expect("a disk that fails");
                sleep(failure.lasts(LEASE));
                progress.wait_for_more();
                harm.end().expect("a disk that is well again");
            }
        }
    }
}
