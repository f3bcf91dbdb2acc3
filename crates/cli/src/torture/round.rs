//! One failure under load.
//!
//! In:  a whole cluster, a failure. Out: what the clients saw of it, checked.

use super::cluster::{Cluster, connect};
use super::harm::harm;
use anyhow::{Context as _, bail};
use brickyard_torture::Failure;
use brickyard_torture::{
    Action, CheckedHistory, Kind as Of, Load, LoadOptions, Nanos, Operation, Outcome, Recording,
    Sample, Wait,
};
use brickyard_wire::Value;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// Writes that must succeed before the failure, and after the cluster is whole again.
const WRITES: u64 = 500;

/// How long these may take.
const WRITES_LIMIT: Duration = Duration::from_secs(60);

/// Keys of a round.
const KEYS: usize = 40;

/// Throughput is shown in pieces of so many nanoseconds.
const PIECE: Nanos = 250_000_000;

/// The audit's clients are numbered from here.
const AUDITORS: u32 = 1000;

/// What came of a failure.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) kind: Failure,
    /// Whom it happened to.
    pub(super) node: Option<usize>,
    /// What the checker said; the violation in words.
    pub(super) checked: Result<CheckedHistory, String>,
    /// The longest that an operation took that was under way while or after it, all attempts together.
    pub(super) write_wait: Longest,
    pub(super) read_wait: Longest,
    /// The same for reads of keys on which no write was under way.
    pub(super) quiet_read_wait: Longest,
    /// From its end until every partition had all its replicas.
    pub(super) whole_after: Duration,
    /// When it began, since the round did.
    pub(super) began: Duration,
    pub(super) samples: Vec<Sample>,
    /// The history, if it is not linearizable.
    pub(super) history: Vec<Operation>,
}

/// The longest wait of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Longest {
    pub(super) took: Duration,
    /// When it began, since the failure did: what is only being found out, and what comes back, hold up others.
    pub(super) begun: Duration,
    /// Its attempts that failed, and what the last of them was told.
    pub(super) failed: u32,
    pub(super) told: String,
}

impl Longest {
    fn of(wait: Option<&Wait>, failure: Nanos) -> Self {
        wait.map_or_else(Self::default, |wait| Self {
            took: Duration::from_nanos(wait.took()),
            begun: Duration::from_nanos(wait.called.saturating_sub(failure)),
            failed: wait.failed,
            told: wait.told.clone(),
        })
    }
}

/// Lets a failure happen under load, and waits until all is well again.
pub(super) async fn run(
    cluster: &Cluster,
    number: usize,
    kind: Failure,
    draw: u64,
    patience: Duration,
) -> anyhow::Result<Round> {
    // Of this round alone: no history has to begin where another one ended.
    let keys: Vec<String> = (0..KEYS).map(|at| format!("r{number}-{at}")).collect();
    let mut options = LoadOptions::new(cluster.seeds(), super::cluster::TABLE, keys.clone());
    options.client.silence_limit = patience;
    let load = spawn_blocking(move || Load::start(options)).await??;
    let zero = std::time::Instant::now() - Duration::from_nanos(load.now());
    wait_for_writes(&load)
        .await
        .with_context(|| format!("before {}", kind.title()))?;
    let begin = load.now();
    let node = harm(cluster, &load, kind, draw).await?;
    let end = load.now();
    cluster.wait_until_whole().await?;
    let whole = load.now();
    cluster.check_logs().await?;
    wait_for_writes(&load)
        .await
        .with_context(|| format!("after {}", kind.title()))?;
    let last = load.now();
    let seeds = cluster.seeds();
    spawn_blocking(move || {
        let mut recording = load.stop();
        let samples = recording.samples(PIECE);
        audit(&seeds, &keys, zero, &mut recording)?;
        let wait = |of| Longest::of(recording.longest_wait(of, begin, last), begin);
        let (write_wait, read_wait) = (wait(Of::Write), wait(Of::Read));
        let quiet_read_wait = Longest::of(recording.longest_undisturbed(begin, last), begin);
        let checked = recording.check().map_err(|violation| violation.to_string());
        let history = match &checked {
            Ok(_) => Vec::new(),
            Err(_) => recording.operations,
        };
        Ok(Round {
            kind,
            node,
            checked,
            write_wait,
            read_wait,
            quiet_read_wait,
            whole_after: Duration::from_nanos(whole - end),
            began: Duration::from_nanos(begin),
            samples,
            history,
        })
    })
    .await?
}

/// Waits until some more writes have succeeded.
pub(super) async fn wait_for_writes(load: &Load) -> anyhow::Result<()> {
    let wanted = load.done(Of::Write) + WRITES;
    let deadline = Instant::now() + WRITES_LIMIT;
    while load.done(Of::Write) < wanted {
        if Instant::now() >= deadline {
            bail!(
                "fewer than {WRITES} writes succeeded within {} s",
                WRITES_LIMIT.as_secs()
            );
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Reads every key through every node, now that all is quiet.
fn audit(
    seeds: &[String],
    keys: &[String],
    zero: std::time::Instant,
    recording: &mut Recording,
) -> anyhow::Result<()> {
    let now = || u64::try_from(zero.elapsed().as_nanos()).unwrap_or(u64::MAX);
    for (client, address) in (AUDITORS..).zip(seeds) {
        let mut link = connect(address)?;
        for key in keys {
            let called = now();
            let value = match link.call(&["GET", key])? {
                Value::Bulk(value) => Some(value[..].into()),
                Value::Null => None,
                other => bail!("GET {key} at {address} answered {other:?}"),
            };
            recording.operations.push(Operation {
                key: key.as_bytes().into(),
                action: Action::Get,
                called,
                returned: now(),
                outcome: Outcome::Value(value),
                client,
            });
        }
    }
    Ok(())
}
