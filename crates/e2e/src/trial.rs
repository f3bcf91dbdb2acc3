//! A failure under load: what clients saw, how long they waited, and when all replicas were back.

use crate::cluster::Cluster;
use crate::deadline::wait_for;
use crate::network::Network;
use crate::plain::{Met, PlainReaders};
use crate::value::Value;
use brickyard_torture::{
    Action, CheckedHistory, Kind, Load, LoadOptions, Lookups, Operation, Outcome, ReadPolicy,
    Recording, Wait,
};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Successful writes that there must be before and after the failure.
const WRITES: u64 = 500;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What people call it.
    pub name: &'static str,
    /// The nodes, in the order in which they are started.
    pub nodes: &'static [usize],
    /// What they are started with, besides.
    pub arguments: &'static [&'static str],
    /// Replicas of the table.
    pub replicas: usize,
    /// What the table is made with, besides.
    pub attributes: &'static [&'static str],
    /// Whether the nodes are on a network that can be cut.
    pub can_be_cut: bool,
    /// Keys that the load uses.
    pub keys: usize,
    /// The node that stays and cannot answer meanwhile.
    pub aside: Option<usize>,
    /// Bytes that each of four clients keeps of what it reads; 0: there is one, which keeps nothing.
    pub cache_bytes: usize,
    /// How the clients find keys; none: by the whole map.
    pub lookups: Option<Lookups>,
    /// What the nodes run at first; none: the program under test.
    pub program: Option<&'static Path>,
}

impl Setup {
    /// Three nodes, two replicas, sixteen partitions, forty keys.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            nodes: &[0, 1, 2],
            arguments: &[],
            replicas: 2,
            attributes: &["PARTITIONS", "16"],
            can_be_cut: false,
            keys: 40,
            aside: None,
            cache_bytes: 0,
            lookups: None,
            program: None,
        }
    }
}

/// Which keys a load uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Any.
    Any,
    /// Those of one partition's primary and backups.
    OfOneGroup,
}

/// What came of a trial.
#[derive(Debug)]
pub struct Report {
    /// What was tried.
    pub name: &'static str,
    /// What the checker said.
    pub checked: Result<CheckedHistory, String>,
    /// The longest that a write took, all its attempts together, while and after the failure.
    pub write_wait: Duration,
    /// The same for reads.
    pub read_wait: Duration,
    /// The same for reads of keys on which no write was under way, whose outcome they might have to wait for.
    pub free_read_wait: Duration,
    /// What clients met that know one node's port and nothing of the cluster.
    pub plain: Met,
    /// From the end of the failure until every partition had all its replicas in sync.
    pub whole_after: Duration,
    /// When the failure began, and when it ended, since the load began.
    pub failure: (Duration, Duration),
    /// Everything that the clients saw.
    pub recording: Recording,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "{}: ", self.name)?;
        match &self.checked {
            Ok(checked) => write!(
                f,
                "{} operations, {} of unknown outcome, linearizable",
                checked.operations, checked.unknown
            )?,
            Err(violation) => write!(f, "NOT LINEARIZABLE: {violation}")?,
        }
        write!(
            f,
            "; longest wait of a write {:.0} ms, of a read {:.0} ms ({:.0} ms beside writes of its key), of a plain \
             client's read {:.0} ms ({} refused); whole after {:.0} ms",
            millis(self.write_wait),
            millis(self.free_read_wait),
            millis(self.read_wait),
            millis(self.plain.longest),
            self.plain.refused,
            millis(self.whole_after)
        )
    }
}

impl Report {
    /// Passes it on if clients saw one table.
    ///
    /// # Panics
    /// If not; the violation is shown.
    #[must_use]
    pub fn checked(self) -> Self {
        println!("{self}");
        assert!(self.checked.is_ok(), "{self}");
        self
    }
}

/// Starts a cluster and a load, makes something go wrong, and waits until all is well again. What goes wrong is told which nodes
/// hold the first key, the primary first. `None` where this machine cannot do it; one line was printed then.
///
/// # Panics
/// If the cluster does not form or does not become whole again.
pub fn try_failure(
    setup: Setup,
    keys: Keys,
    harm: impl FnOnce(&mut Cluster, &Load, &[usize]),
) -> Option<Report> {
    let network = if setup.can_be_cut {
        Some(Network::new(setup.nodes.len())?)
    } else {
        None
    };
    let mut cluster = match setup.program {
        Some(program) => Cluster::start_from(program, setup.nodes, 1, setup.arguments),
        None => Cluster::start_on(network, setup.nodes, 1, setup.arguments),
    };
    let replicas = setup.replicas.to_string();
    let attributes = [&["REPLICAS", &replicas][..], setup.attributes].concat();
    cluster.create_table("t", &attributes);
    cluster.wait_until_whole("t", setup.replicas);
    let keys = keys_for(&cluster, keys, setup.keys);
    let holders = holders(&cluster, &keys[0]);
    let mut options = LoadOptions::new(cluster.seeds(), "t", keys.clone());
    if setup.cache_bytes > 0 {
        let bytes = setup.cache_bytes;
        options.client.reads = ReadPolicy::Kept { bytes };
        (options.libraries, options.writers, options.readers) = (4, 3, 9);
    }
    if let Some(lookups) = setup.lookups {
        options.client.lookups = lookups;
    }
    let load = Load::start(options).unwrap_or_else(|error| panic!("{error}"));
    let zero = Instant::now() - Duration::from_nanos(load.now());
    wait_for_writes(&load);
    let plain = PlainReaders::start(&cluster, "t", setup.aside);
    let begin = load.now();
    harm(&mut cluster, &load, &holders);
    let end = load.now();
    cluster.wait_until_formed();
    cluster.wait_until_whole("t", setup.replicas);
    let whole = load.now();
    wait_for_writes(&load);
    let last = load.now();
    let plain = plain.stop();
    let mut recording = load.stop();
    audit(&cluster, &keys, zero, &mut recording);
    let wait = |kind| Duration::from_nanos(recording.longest(kind, begin, last));
    Some(Report {
        name: setup.name,
        checked: recording.check().map_err(|violation| violation.to_string()),
        write_wait: wait(Kind::Write),
        read_wait: wait(Kind::Read),
        free_read_wait: Duration::from_nanos(
            recording
                .longest_undisturbed(begin, last)
                .map_or(0, Wait::took),
        ),
        plain,
        whole_after: Duration::from_nanos(whole - end),
        failure: (Duration::from_nanos(begin), Duration::from_nanos(end)),
        recording,
    })
}

/// Waits until some more writes have succeeded.
///
/// # Panics
/// If they do not.
pub fn wait_for_writes(load: &Load) {
    let begin = load.done(Kind::Write);
    wait_for("writes", || {
        (load.done(Kind::Write) >= begin + WRITES).then_some(())
    });
}

fn keys_for(cluster: &Cluster, keys: Keys, count: usize) -> Vec<String> {
    let all = (0..).map(|at| format!("key{at}"));
    match keys {
        Keys::Any => all.take(count).collect(),
        Keys::OfOneGroup => {
            let group = holders(cluster, "key0");
            all.filter(|key| holders(cluster, key) == group)
                .take(count)
                .collect()
        }
    }
}

fn holders(cluster: &Cluster, key: &str) -> Vec<usize> {
    cluster
        .holders("t", key)
        .unwrap_or_else(|error| panic!("who holds {key}: {error}"))
}

/// Reads every key through every node, now that all is quiet.
fn audit(cluster: &Cluster, keys: &[String], zero: Instant, recording: &mut Recording) {
    let now = || u64::try_from(zero.elapsed().as_nanos()).unwrap_or(u64::MAX);
    for at in cluster.running() {
        let mut client = cluster
            .table(at, "t")
            .unwrap_or_else(|error| panic!("node {at}: {error}"));
        for key in keys {
            let called = now();
            let value = match client.call(&["GET", key]) {
                Value::Bulk(value) => Some(value.into()),
                Value::NullBulk => None,
                other => panic!("GET {key} at node {at}: {other}"),
            };
            recording.operations.push(Operation {
                key: key.as_bytes().into(),
                action: Action::Get,
                called,
                returned: now(),
                outcome: Outcome::Value(value),
                client: 1000 + at as u32,
            });
        }
    }
}
