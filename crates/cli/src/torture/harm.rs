//! Makes a failure happen, and ends it.
//!
//! In:  a whole cluster under load, a kind of failure. Out: whom it happened to; the cluster is on its way to be whole again.

use super::cluster::Cluster;
use super::failure::Kind;
use super::round::wait_for_writes;
use crate::dev::node::Order;
use anyhow::Context as _;
use brickyard_torture::Load;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The default lease.
const LEASE: Duration = Duration::from_millis(700);

/// How long gray failures last: longer than anything that Brickyard waits for by itself.
const LONG: Duration = Duration::from_secs(10);

/// How often a flapping link changes.
const FLAPS_EVERY: Duration = Duration::from_millis(500);

/// Percent of packets that are lost by [`Kind::Loss`].
const LOST_PERCENT: u8 = 15;

/// What is written to a slow disk takes up to so long.
const SLOW_BY: Duration = Duration::from_millis(250);

/// How long all cores are busy, and how often it is looked whether replicas were taken out meanwhile.
const BUSY: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Makes it happen; whom it happened to.
pub(super) async fn harm(
    cluster: &Cluster,
    load: &Load,
    kind: Kind,
    draw: u64,
) -> anyhow::Result<Option<usize>> {
    let count = cluster.nodes.len();
    let at = match kind {
        Kind::KillLeader | Kind::CutLeaderLink | Kind::LeaderDiskFull | Kind::LeaderDiskStall => {
            cluster.leader().await?
        }
        Kind::CutLink | Kind::DiskFull | Kind::DiskStall | Kind::DiskSlow => {
            other_than(cluster.leader().await?, count, draw)
        }
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
        Kind::FullLoad => {
            endure(cluster).await?;
            return Ok(None);
        }
        Kind::Cut
        | Kind::CutFrom
        | Kind::CutTo
        | Kind::CutLink
        | Kind::CutLeaderLink
        | Kind::FlappingLink
        | Kind::Loss => harm_network(cluster, load, kind, at, draw).await?,
        Kind::DiskFull
        | Kind::DiskStall
        | Kind::DiskSlow
        | Kind::LeaderDiskFull
        | Kind::LeaderDiskStall => harm_disk(cluster, load, kind, at).await?,
    }
    Ok(Some(at))
}

/// One of so many nodes, but not that one if there is another.
fn other_than(not: usize, count: usize, draw: u64) -> usize {
    let others = count.saturating_sub(1).max(1) as u64;
    (not + 1 + (draw % others) as usize) % count
}

async fn harm_network(
    cluster: &Cluster,
    load: &Load,
    kind: Kind,
    at: usize,
    draw: u64,
) -> anyhow::Result<()> {
    let network = cluster.network.as_ref().context("no network to cut")?;
    let count = cluster.nodes.len();
    let cut_link = |other| -> anyhow::Result<()> {
        network.cut(at, other)?;
        Ok(network.cut(other, at)?)
    };
    match kind {
        Kind::CutLink => {
            let leader = cluster.leader().await?;
            let third = (0..count).find(|it| *it != at && *it != leader);
            cut_link(third.context("no third node")?)?;
            sleep(LONG).await;
        }
        Kind::CutLeaderLink => {
            cut_link(other_than(at, count, draw))?;
            sleep(LONG).await;
        }
        Kind::FlappingLink => {
            let end = Instant::now() + LONG;
            while Instant::now() < end {
                cut_link(other_than(at, count, draw))?;
                sleep(FLAPS_EVERY).await;
                network.heal()?;
                sleep(FLAPS_EVERY).await;
            }
        }
        Kind::Loss => {
            network.lose(at, LOST_PERCENT)?;
            sleep(LONG).await;
        }
        _ => {
            for other in (0..count).filter(|other| *other != at) {
                if kind != Kind::CutTo {
                    network.cut(at, other)?;
                }
                if kind != Kind::CutFrom {
                    network.cut(other, at)?;
                }
            }
            sleep(3 * LEASE).await;
        }
    }
    // The others go on.
    let others = wait_for_writes(load).await;
    network.heal()?;
    others
}

async fn harm_disk(cluster: &Cluster, load: &Load, kind: Kind, at: usize) -> anyhow::Result<()> {
    let disk = cluster.disks.get(at).context("no disk of its own")?;
    let slowness = match kind {
        Kind::DiskFull | Kind::LeaderDiskFull => {
            disk.fill()?;
            None
        }
        Kind::DiskSlow => Some(disk.slow_down(SLOW_BY)?),
        _ => {
            disk.stall()?;
            None
        }
    };
    sleep(LONG).await;
    // The others go on.
    let others = wait_for_writes(load).await;
    drop(slowness);
    match kind {
        Kind::DiskFull | Kind::LeaderDiskFull => disk.make_room()?,
        Kind::DiskStall | Kind::LeaderDiskStall => disk.go_on()?,
        _ => {}
    }
    others
}

/// Keeps all cores busy for a while. That is no failure: no replica may be taken out for it.
async fn endure(cluster: &Cluster) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_over = Arc::new(AtomicBool::new(false));
    let spinning: Vec<_> = (0..cores)
        .map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    let end = Instant::now() + BUSY;
    let mut result = Ok(());
    while result.is_ok() && Instant::now() < end {
        sleep(LOOK_EVERY).await;
        result = cluster.check_whole().await;
    }
    is_over.store(true, Ordering::Relaxed);
    for thread in spinning {
        // It does nothing that could panic.
        drop(thread.join());
    }
    result.context("all cores are busy, and nothing has failed")
}

#[cfg(test)]
mod harm_test {
    use super::other_than;

    #[test]
    fn other_node_is_another_one_where_there_is_one() {
        for count in 2..6 {
            for not in 0..count {
                let drawn = (0..20).map(|draw| other_than(not, count, draw));
                let drawn: std::collections::BTreeSet<usize> = drawn.collect();
                let expected = (0..count).filter(|it| *it != not).collect();
                assert_eq!(drawn, expected);
            }
        }
        assert_eq!(other_than(0, 1, 7), 0);
    }
}
