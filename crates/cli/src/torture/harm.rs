//! Makes a failure happen, and ends it.
//!
//! In:  a whole cluster under load, a kind of failure. Out: whom it happened to; the cluster is on its way to be whole again.

use super::cluster::Cluster;
use super::round::wait_for_writes;
use crate::dev::node::Order;
use anyhow::Context as _;
use brickyard_torture::{BusyCores, Failure, Load};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The default lease.
const LEASE: Duration = Duration::from_millis(700);

/// How often a flapping link changes.
const FLAPS_EVERY: Duration = Duration::from_millis(500);

/// How long all cores are busy, and how often it is looked whether replicas were taken out meanwhile.
const BUSY: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Makes it happen; whom it happened to.
pub(super) async fn harm(
    cluster: &Cluster,
    load: &Load,
    failure: Failure,
    draw: u64,
) -> anyhow::Result<Option<usize>> {
    let count = cluster.nodes.len();
    let leader = cluster.leader().await?;
    let at = failure.victim(leader, count, draw);
    match failure {
        Failure::Kill | Failure::KillLeader => {
            cluster.order(at, Order::Kill).await?;
            sleep(2 * LEASE).await;
            // The others go on.
            if count > 1 {
                wait_for_writes(load).await?;
            }
            cluster.order(at, Order::Start).await?;
        }
        Failure::Flap => {
            cluster.order(at, Order::Kill).await?;
            cluster.order(at, Order::Start).await?;
        }
        Failure::KillAll => {
            for at in 0..count {
                cluster.order(at, Order::Kill).await?;
            }
            for at in 0..count {
                cluster.order(at, Order::Start).await?;
            }
            return Ok(None);
        }
        Failure::Pause => {
            cluster.order(at, Order::Pause).await?;
            sleep(5 * LEASE).await;
            cluster.order(at, Order::Resume).await?;
        }
        Failure::RollingRestart => {
            for at in 0..count {
                cluster.order(at, Order::Stop).await?;
                cluster.order(at, Order::Start).await?;
                cluster.wait_until_whole().await?;
            }
            return Ok(None);
        }
        Failure::FullLoad => {
            endure(cluster).await?;
            return Ok(None);
        }
        Failure::Cut
        | Failure::CutFrom
        | Failure::CutTo
        | Failure::CutLink
        | Failure::CutLeaderLink
        | Failure::FlappingLink
        | Failure::Loss => {
            let network = cluster.network.as_ref().context("no network to cut")?;
            let end = Instant::now() + failure.lasts(LEASE);
            network.harm(failure, at, leader, draw)?;
            while failure == Failure::FlappingLink && Instant::now() < end {
                sleep(FLAPS_EVERY).await;
                network.heal()?;
                sleep(FLAPS_EVERY).await;
                network.harm(failure, at, leader, draw)?;
            }
            tokio::time::sleep_until(end).await;
            // The others go on.
            let others = wait_for_writes(load).await;
            network.heal()?;
            others?;
        }
        Failure::DiskFull
        | Failure::DiskStall
        | Failure::DiskSlow
        | Failure::LeaderDiskFull
        | Failure::LeaderDiskStall => {
            let disk = cluster.disks.get(at).context("no disk of its own")?;
            let harm = disk.harm(failure)?;
            sleep(failure.lasts(LEASE)).await;
            // The others go on.
            let others = wait_for_writes(load).await;
            harm.end()?;
            others?;
        }
    }
    Ok(Some(at))
}

/// Keeps all cores busy for a while. That is no failure: no replica may be taken out for it.
async fn endure(cluster: &Cluster) -> anyhow::Result<()> {
    let busy = BusyCores::begin();
    let end = Instant::now() + BUSY;
    let mut result = Ok(());
    while result.is_ok() && Instant::now() < end {
        sleep(LOOK_EVERY).await;
        result = cluster.check_whole().await;
    }
    drop(busy);
    result.context("all cores are busy, and nothing has failed")
}
