//! One failure under load.
//!
//! In:  a whole cluster, a failure. Out: what the clients saw of it, checked.

use super::cluster::{Cluster, connect};
use super::failure::Kind;
use crate::dev::node::Order;
use anyhow::{Context as _, bail};
use brickyard_torture::{
    Action, CheckedHistory, Kind as Of, Load, LoadOptions, Nanos, Operation, Outcome, Recording,
    Sample,
};
use brickyard_wire::Value;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// The default lease.
const LEASE: Duration = Duration::from_millis(700);

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
    pub(super) kind: Kind,
    /// Whom it happened to.
    pub(super) node: Option<usize>,
    /// What the checker said; the violation in words.
    pub(super) checked: Result<CheckedHistory, String>,
    /// The longest that an operation took that was under way while or after it, all attempts together.
    pub(super) write_wait: Duration,
    pub(super) read_wait: Duration,
    /// From its end until every partition had all its replicas.
    pub(super) whole_after: Duration,
    /// When it began, since the round did.
    pub(super) began: Duration,
    pub(super) samples: Vec<Sample>,
    /// The history, if it is not linearizable.
    pub(super) history: Vec<Operation>,
}

/// Lets a failure happen under load, and waits until all is well again.
pub(super) async fn run(
    cluster: &Cluster,
    number: usize,
    kind: Kind,
    draw: u64,
) -> anyhow::Result<Round> {
    // Of this round alone: no history has to begin where another one ended.
    let keys: Vec<String> = (0..KEYS).map(|at| format!("r{number}-{at}")).collect();
    let options = LoadOptions::new(cluster.seeds(), super::cluster::TABLE, keys.clone());
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
        let wait = |of| Duration::from_nanos(recording.longest(of, begin, last));
        let (write_wait, read_wait) = (wait(Of::Write), wait(Of::Read));
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
            whole_after: Duration::from_nanos(whole - end),
            began: Duration::from_nanos(begin),
            samples,
            history,
        })
    })
    .await?
}

/// Waits until some more writes have succeeded.
async fn wait_for_writes(load: &Load) -> anyhow::Result<()> {
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

/// Makes it happen; whom it happened to.
async fn harm(
    cluster: &Cluster,
    load: &Load,
    kind: Kind,
    draw: u64,
) -> anyhow::Result<Option<usize>> {
    let count = cluster.nodes.len();
    let at = match kind {
        Kind::KillLeader | Kind::LeaderDiskFull | Kind::LeaderDiskStall => cluster.leader().await?,
        _ => (draw % count as u64) as usize,
    };
    match kind {
        Kind::Kill | Kind::KillLeader => {
            cluster.order(at, Order::Kill).await?;
            sleep(2 * LEASE).await;
            // The others go on.
            if count > 1 {
                wait_for_writes(load).await?;
            }
            cluster.order(at, Order::Start).await?;
        }
        Kind::Flap => {
            cluster.order(at, Order::Kill).await?;
            cluster.order(at, Order::Start).await?;
        }
        Kind::KillAll => {
            for at in 0..count {
                cluster.order(at, Order::Kill).await?;
            }
            for at in 0..count {
                cluster.order(at, Order::Start).await?;
            }
            return Ok(None);
        }
        Kind::Pause => {
            cluster.order(at, Order::Pause).await?;
            sleep(5 * LEASE).await;
            cluster.order(at, Order::Resume).await?;
        }
        Kind::RollingRestart => {
            for at in 0..count {
                cluster.order(at, Order::Stop).await?;
                cluster.order(at, Order::Start).await?;
                cluster.wait_until_whole().await?;
            }
            return Ok(None);
        }
        Kind::Cut | Kind::CutFrom | Kind::CutTo => {
            let network = cluster.network.as_ref().context("no network to cut")?;
            for other in (0..count).filter(|other| *other != at) {
                if kind != Kind::CutTo {
                    network.cut(at, other)?;
                }
                if kind != Kind::CutFrom {
                    network.cut(other, at)?;
                }
            }
            sleep(3 * LEASE).await;
            wait_for_writes(load).await?;
            network.heal()?;
        }
        Kind::LeaderDiskFull | Kind::LeaderDiskStall => {
            let disk = cluster.disks.get(at).context("no disk of its own")?;
            if kind == Kind::LeaderDiskFull {
                disk.fill()?;
            } else {
                disk.stall()?;
            }
            sleep(5 * LEASE).await;
            // The others go on.
            let others = wait_for_writes(load).await;
            if kind == Kind::LeaderDiskFull {
                disk.make_room()?;
            } else {
                disk.go_on()?;
            }
            others?;
        }
    }
    Ok(Some(at))
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
