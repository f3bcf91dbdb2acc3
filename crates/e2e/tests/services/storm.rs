//! What goes wrong while a service is used: the failures of `brickyard torture`, and those of the service's own instances.
//!
//! In:  a cluster, two instances, people who use them on threads of their own. Out: all of it well again, and nobody at work any more.

use crate::service::Service;
use brickyard_e2e::cluster::{Cluster, LEASE};
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use brickyard_e2e::skip::number_from_environment;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{ScopedJoinHandle, scope, sleep};

/// What must be acknowledged between two failures, and after the last one.
const REQUESTS: u64 = 60;

/// Far less than a fail-over takes.
const HASTE_MS: &str = "250";

/// One kind of failure.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// kill -9 of a node that is started again once others go on.
    KillNode,
    /// The same of the node that leads the control plane.
    KillLeader,
    /// kill -9 of all nodes at once.
    KillAll,
    /// SIGSTOP for longer than leases last.
    PauseNode,
    /// kill -9 of an instance of the service.
    KillService,
    /// SIGSTOP of one, for longer than a fail-over takes.
    PauseService,
}

const FAILURES: [Failure; 6] = [
    Failure::KillNode,
    Failure::KillLeader,
    Failure::KillAll,
    Failure::PauseNode,
    Failure::KillService,
    Failure::PauseService,
];

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
        let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
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
            let mut left = FAILURES.to_vec();
            while !left.is_empty() && !progress.is_over() {
                let failure = left.swap_remove(random.below(left.len()));
                println!(
                    "{}: {failure:?} after {} requests",
                    self.name,
                    progress.count()
                );
                self.harm(failure, &mut random, &progress);
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

    fn harm(&mut self, failure: Failure, random: &mut Random, progress: &Progress) {
        let node = random.below(self.cluster.len());
        let at = random.below(self.services.len());
        match failure {
            Failure::KillNode | Failure::KillLeader => {
                let node = match failure {
                    Failure::KillLeader => self.cluster.leader(),
                    _ => node,
                };
                self.cluster.kill(node);
                progress.wait_for_more();
                self.cluster.launch(node);
            }
            Failure::KillAll => {
                for node in 0..self.cluster.len() {
                    self.cluster.kill(node);
                }
                for node in 0..self.cluster.len() {
                    self.cluster.launch(node);
                }
            }
            Failure::PauseNode => {
                self.cluster.signal(node, "STOP");
                // The pause itself is what is tried.
                sleep(3 * LEASE);
                self.cluster.signal(node, "CONT");
            }
            Failure::KillService => {
                self.services[at].kill();
                progress.wait_for_more();
                self.services[at].launch();
            }
            Failure::PauseService => {
                self.services[at].signal("STOP");
                sleep(3 * LEASE);
                self.services[at].signal("CONT");
            }
        }
    }
}
