//! A node of one brick, and what its tables cost a client.
//!
//! In:  a directory, the workload. Out: [`TrialFigures`] for each kind of table.
//!
//! The node is in this process, over loopback sockets like any other: what a client waits for is what it would wait for, but for the network.

use super::machine::{KINDS, TrialFigures};
use super::ranking::AdvisedWorkload;
use crate::settings::SettingsArguments;
use anyhow::{Context as _, bail};
use brickyard_bench::{
    Distribution, KeySpace, Link, Options, Pace, Report, Target, Until, Workload, run,
};
use brickyard_server::{RunningNode, Signals};
use brickyard_types::{Durability, Medium};
use brickyard_wire::Value;
use std::{path::Path, time::Duration};

/// Records of a trial's table: enough for an index that is not in a processor's cache, and at most so many bytes.
const RECORDS_MAX: u64 = 100_000;
const BYTES_MAX: u64 = 32 << 20;

/// A `disk` table of a trial has no more memory for values, so that what is read is not there.
const DISK_MEMORY: &str = "64kb";

/// Clients of a node that has all the load it takes, and how many requests each sends before it waits.
const CLIENTS: usize = 16;
const PIPELINE: usize = 16;

/// Measures all kinds of tables; `step` is told of each before it begins.
pub(crate) fn measure(
    dir: &Path,
    workload: &AdvisedWorkload,
    each: Duration,
    mut step: impl FnMut(&str),
) -> anyhow::Result<Vec<TrialFigures>> {
    let node = start(&dir.join("node"))?;
    let address = node.addresses().node.to_string();
    let measured = KINDS.map(|(medium, durability)| {
        step(&format!("MEDIUM {medium} DURABILITY {durability}"));
        let trial = Trial {
            address: &address,
            workload,
            each,
        };
        trial.measure(medium, durability)
    });
    node.stopper().stop();
    node.wait();
    measured.into_iter().collect()
}

fn start(data: &Path) -> anyhow::Result<RunningNode> {
    let mut settings = SettingsArguments::default();
    for (name, text) in [
        ("listen", "127.0.0.1:0"),
        ("bricks", "1"),
        ("log_level", "error"),
    ] {
        settings.set_default(name, text);
    }
    settings.set_default("data", data.display().to_string());
    let loaded = settings.load()?;
    let node = RunningNode::start(&loaded.config, Signals::Ignore);
    node.context("the node that is to be measured cannot start")
}

struct Trial<'a> {
    address: &'a str,
    workload: &'a AdvisedWorkload,
    each: Duration,
}

impl Trial<'_> {
    fn measure(&self, medium: Medium, durability: Durability) -> anyhow::Result<TrialFigures> {
        let name = format!("{medium}-{durability}");
        let mut link = Link::open(&Target::resp(self.address))?;
        let mut create = vec!["TABLE", "CREATE", &name];
        create.extend(["MEDIUM", medium.word(), "DURABILITY", durability.word()]);
        if medium == Medium::Disk {
            create.extend(["MAXMEMORY", DISK_MEMORY]);
        }
        must(&mut link, &create)?;
        let target = Target {
            table: Some(name.clone()),
            ..Target::resp(self.address)
        };
        let one_by_one = |set_share| self.options(&target, set_share, 1, 1);
        let fill = self.options(&target, 1.0, CLIENTS, PIPELINE).filling();
        checked(run(&fill)?)?;
        let reads = checked(run(&one_by_one(0.0))?)?;
        let writes = checked(run(&one_by_one(1.0))?)?;
        let writes_share = 1.0 - self.workload.reads;
        let mixed = checked(run(&self.options(
            &target,
            writes_share,
            CLIENTS,
            PIPELINE,
        ))?)?;
        must(&mut link, &["TABLE", "DROP", &name, "CONFIRM", &name])?;
        Ok(TrialFigures {
            medium,
            durability,
            read_us: reads.latency.mean_us,
            write_us: writes.latency.mean_us,
            mixed_per_s: mixed.count_per_s,
        })
    }

    fn records(&self) -> u64 {
        let bytes = self.workload.key_bytes + self.workload.value_bytes;
        let fit = BYTES_MAX / bytes.max(1);
        self.workload.keys.min(RECORDS_MAX).min(fit).max(1)
    }

    fn mix(&self, set_share: f64) -> Workload {
        let value_bytes = self.workload.value_bytes as usize;
        Workload {
            set_share,
            keys: KeySpace {
                count: self.records(),
                bytes: self.workload.key_bytes as usize,
                distribution: Distribution::Uniform,
            },
            value_bytes_min: value_bytes,
            value_bytes_max: value_bytes,
            expire_ms: None,
        }
    }

    fn options(
        &self,
        target: &Target,
        set_share: f64,
        connections: usize,
        pipeline: usize,
    ) -> Options {
        Options {
            target: target.clone(),
            workload: self.mix(set_share),
            pace: Pace::Closed { pipeline },
            until: Until::Elapsed(self.each),
            warm_up: self.each / 4,
            connections,
            threads: 1,
            seed: 1,
            drain_limit: Duration::from_secs(10),
        }
    }
}

/// A measurement of what was refused would be one of refusals.
fn checked(report: Report) -> anyhow::Result<Report> {
    if let Some((kind, count)) = report.refused.iter().next() {
        bail!("the node that is measured refused {count} requests with {kind}");
    }
    Ok(report)
}

fn must(link: &mut Link, request: &[&str]) -> anyhow::Result<()> {
    match link.call(request)? {
        Value::Error(text) => bail!("{}: {}", request.join(" "), String::from_utf8_lossy(&text)),
        _ => Ok(()),
    }
}
