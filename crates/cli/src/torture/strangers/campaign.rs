//! Strangers at every port, lap after lap, while the cluster's own clients are served.
//!
//! In:  a [`Plan`]. Out: a [`StrangersResult`], told and written down.

use super::answer::Answer;
use super::arsenal::Arsenal;
use super::cluster::{CLIENTS_BYTES, Cluster, TABLE, overhear_in_the_clear};
use super::crowd::Crowd;
use super::expected::Expected;
use super::kind::Kind;
use super::meeting::meet;
use super::page;
use super::plan::Plan;
use super::port::Port;
use super::served::Served;
use super::state::State;
use super::watch::{Probes, Watch, resident};
use crate::dev::ports;
use anyhow::Context as _;
use brickyard_torture::{Load, LoadOptions};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, LocalSet, spawn_blocking};
use tokio::time::sleep;

/// Nodes without certificates, whose connections are overheard.
const OVERHEARD: u16 = 2;

/// Keys of a lap's load.
const KEYS: usize = 40;

/// Between two operations of each of the load's clients: many laps' histories are checked, and the machine has others to serve.
const PAUSE: Duration = Duration::from_millis(5);

/// What a node may have more than before strangers came: what all clients' buffers may take, sessions of thousands of connections, and
/// what the load itself wrote meanwhile.
const GROWN_MAX: u64 = CLIENTS_BYTES + (128 << 20);

/// What a port answered a kind of stranger, each time.
pub(super) type Answers = BTreeMap<(Kind, Port), Vec<Answer>>;

/// What came of it all.
#[derive(Debug, Default)]
pub(super) struct StrangersResult {
    pub(super) took: Duration,
    pub(super) laps: usize,
    pub(super) answers: Answers,
    /// Of connections beside those: made, not made, open at once.
    pub(super) crowd: (u64, u64, usize),
    /// Of each node: at the start, under load alone, with strangers.
    pub(super) memory: Vec<[u64; 3]>,
    /// Under load alone, and with strangers.
    pub(super) served: [Served; 2],
    pub(super) probes: [Probes; 2],
    pub(super) catalog_versions: [u64; 2],
    /// How long a node that was restarted among strangers took until all copies were in sync.
    pub(super) rejoined_after: Duration,
    /// Bytes that the nodes' logs grew by.
    pub(super) logged: u64,
    /// What must not be.
    pub(super) faults: Vec<String>,
}

/// Runs it; whether nothing was wrong.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let dir = crate::torture::campaign::Dir::open(plan.dir.as_deref())?;
    let result = LocalSet::new().block_on(&runtime, carry_out(plan, dir.path()));
    let is_good = result.as_ref().is_ok_and(|it| it.faults.is_empty());
    let kept = dir.end(is_good);
    let place = kept.map_or_else(String::new, |kept| {
        format!("Data and logs: {}\n", kept.display())
    });
    let result = result.with_context(|| format!("it did not come to its end. {place}"))?;
    let text = page::page(plan, &result);
    if let Some(path) = &plan.page {
        std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print!("{text}{place}");
    for fault in &result.faults {
        eprintln!("WRONG: {fault}");
    }
    Ok(is_good)
}

async fn carry_out(plan: &Plan, dir: &Path) -> anyhow::Result<StrangersResult> {
    let all = plan.nodes + OVERHEARD;
    let chosen = ports::choose(all, plan.bricks, plan.port, ports::is_free);
    let chosen = chosen.map_err(anyhow::Error::msg)?;
    let (own, others) = chosen.split_at(usize::from(plan.nodes));
    let plain = overhear_in_the_clear(&dir.join("clear"), others).await?;
    let cluster = Cluster::start(plan, dir, own).await?;
    let encrypted = cluster.overheard();
    anyhow::ensure!(
        !plain.is_empty() && !encrypted.is_empty(),
        "nothing was overheard between nodes"
    );
    let arsenal = Arc::new(Arsenal::new(&cluster.secrets, encrypted, plain)?);
    let result = besiege(plan, &cluster, arsenal).await;
    let result = result.with_context(|| cluster.last_words());
    cluster.end().await;
    result
}

async fn besiege(
    plan: &Plan,
    cluster: &Cluster,
    arsenal: Arc<Arsenal>,
) -> anyhow::Result<StrangersResult> {
    let mut result = StrangersResult::default();
    let (before, version_before) = State::of(cluster).await?;
    let processes = cluster.processes();
    let at_start: Vec<u64> = processes.iter().map(|it| resident(*it)).collect();
    let logged_before = cluster.log_bytes();

    let watch = Watch::start(cluster)?;
    let load = start_load(cluster, "quiet").await?;
    sleep(plan.quiet).await;
    end_load(load, &mut result, 0).await?;
    let quiet = watch.most();
    result.probes[0] = watch.probes();
    drop(watch);

    let watch = Watch::start(cluster)?;
    let begin = Instant::now();
    let ports = ports_of(cluster);
    let numbers = ports.iter().map(|(_, number)| *number).collect();
    let crowd = Crowd::start(Arc::clone(&arsenal), numbers, plan.connections)?;
    while result.laps == 0 || begin.elapsed() < plan.time {
        let load = start_load(cluster, &format!("lap{}", result.laps)).await?;
        let (arsenal, ports, patience) = (Arc::clone(&arsenal), ports.clone(), plan.patience);
        let met = spawn_blocking(move || meet_all(&arsenal, &ports, patience)).await??;
        end_load(load, &mut result, 1).await?;
        for (kind, port, answer) in met {
            let expected = Expected::of(kind, port);
            if !expected.check(port, &answer, plan.patience) {
                result.faults.push(format!(
                    "{}: {} was answered '{answer}'; expected: {expected:?}",
                    port.title(),
                    kind.title()
                ));
            }
            result.answers.entry((kind, port)).or_default().push(answer);
        }
        result.laps += 1;
        if cluster.processes() != processes {
            result
                .faults
                .push(format!("a node has ended; {}", cluster.last_words()));
            break;
        }
    }
    result.took = begin.elapsed();
    result.probes[1] = watch.probes();
    result.memory = (at_start.iter().zip(quiet).zip(watch.most()))
        .map(|((start, quiet), most)| [*start, quiet, most])
        .collect();
    drop(watch);
    let (after, version_after) = State::of(cluster).await?;
    result.faults.extend(after.differences(&before));
    result.catalog_versions = [version_before, version_after];
    result.logged = cluster.log_bytes().saturating_sub(logged_before);
    result.rejoined_after = cluster.restart_last().await?;
    let counts = &crowd.counts;
    result.crowd = (counts.made(), counts.failed(), counts.open_max());
    drop(crowd);

    if result.probes[1].failed > 0 {
        let fault = format!("HTTP did not answer {} probes", result.probes[1].failed);
        result.faults.push(fault);
    }
    for (number, [_, quiet, most]) in result.memory.iter().enumerate() {
        let grown = most.saturating_sub(*quiet);
        if grown > GROWN_MAX {
            let fault = format!("node {number} grew by {} MiB", grown >> 20);
            result.faults.push(fault);
        }
    }
    Ok(result)
}

/// Every port of every node.
fn ports_of(cluster: &Cluster) -> Vec<(Port, u16)> {
    let nodes = cluster.nodes.iter();
    nodes
        .flat_map(|node| Port::ALL.map(|port| (port, port.of(&node.launch))))
        .collect()
}

/// One stranger of each kind at each port, all at once.
fn meet_all(
    arsenal: &Arc<Arsenal>,
    ports: &[(Port, u16)],
    patience: Duration,
) -> anyhow::Result<Vec<(Kind, Port, Answer)>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut meetings = JoinSet::new();
        for &(port, number) in ports {
            for kind in Kind::ALL {
                for script in kind.scripts(arsenal)? {
                    let arsenal = Arc::clone(arsenal);
                    meetings.spawn(async move {
                        let answer = meet(&arsenal, script, number, patience).await;
                        answer.map(|answer| (kind, port, answer))
                    });
                }
            }
        }
        meetings.join_all().await.into_iter().collect()
    })
}

async fn start_load(cluster: &Cluster, name: &str) -> anyhow::Result<Load> {
    let keys = (0..KEYS).map(|at| format!("{name}-{at}")).collect();
    let mut options = LoadOptions::new(cluster.seeds(), TABLE, keys);
    let target = cluster.target(0)?;
    options.client.user = target.user;
    options.client.password = target.password;
    options.client.tls = target.tls;
    options.pause = PAUSE;
    Ok(spawn_blocking(move || Load::start(options)).await??)
}

/// Ends a load; what its clients saw is checked, and counts as one of the two.
async fn end_load(load: Load, result: &mut StrangersResult, which: usize) -> anyhow::Result<()> {
    let recording = spawn_blocking(move || load.stop()).await?;
    let checked = recording.check().map_err(|violation| violation.to_string());
    result.served[which].add(&recording);
    if let Err(violation) = checked {
        let fault = format!("a history is not linearizable: {violation}");
        result.faults.push(fault);
    }
    Ok(())
}
