//! Tables on all media and at all durabilities, under several mixes: what ranking them takes.

use crate::data::Data;
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::run::Run;
use anyhow::Context as _;

/// How a table keeps what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// In memory alone.
    Memory,
    /// In memory, and in the operating system's hands before it is acknowledged.
    Logged,
    /// In memory, and synced before it is acknowledged.
    Synced,
    /// Values in the log.
    Disk,
    /// The same, synced.
    DiskSynced,
}

/// Shares of writes that are measured.
pub(super) const MIXES: [f64; 4] = [0.0, 0.1, 0.5, 1.0];

impl Medium {
    pub(super) const ALL: [Self; 5] = [
        Self::Memory,
        Self::Logged,
        Self::Synced,
        Self::Disk,
        Self::DiskSynced,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "ram, memory",
            Self::Logged => "ram, log",
            Self::Synced => "ram, fsync",
            Self::Disk => "disk, log",
            Self::DiskSynced => "disk, fsync",
        }
    }

    /// What the table is made with.
    const fn attributes(self) -> [&'static str; 4] {
        match self {
            Self::Memory => ["MEDIUM", "ram", "DURABILITY", "memory"],
            Self::Logged => ["MEDIUM", "ram", "DURABILITY", "log"],
            Self::Synced => ["MEDIUM", "ram", "DURABILITY", "fsync"],
            Self::Disk => ["MEDIUM", "disk", "DURABILITY", "log"],
            Self::DiskSynced => ["MEDIUM", "disk", "DURABILITY", "fsync"],
        }
    }
}

/// Measures every mix on every medium, each table on a node of its own, in rounds.
pub(super) fn measure_media(run: &Run<'_>, media: &[Medium]) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let mut tables = Vec::new();
    let piece = run.piece(media.len() * MIXES.len());
    let work = Work {
        keys: run.quick(5_000, 100_000),
        ..Work::DDS
    };
    for (at, medium) in media.iter().enumerate() {
        run.say(&format!("starts {}", medium.name()))?;
        let nodes = Nodes::start(run, &format!("medium{at}"), 1, Shape::default())?;
        nodes.create("t", 1, &medium.attributes())?;
        let target = nodes.target("t")?;
        fill(Way::Address, &work.closed(&target, piece))?;
        tables.push((*medium, nodes, target));
    }
    run.rounds(|round| {
        for mix in MIXES {
            for (medium, nodes, target) in &tables {
                run.say(&format!("{}, {:.0} % writes", medium.name(), mix * 100.0))?;
                let work = Work {
                    set_share: mix,
                    ..work
                };
                let process = nodes.process(0).context("the node is gone")?;
                let before = process.cpu()?;
                let seen = see(&[process], Way::Address, &work.closed(target, piece))?;
                // What a mix leaves to be cleaned, it pays for.
                process.wait_until_quiet()?;
                let (user, system) = process.cpu()?.since(&before);
                let mut measures = seen.measures();
                measures.retain(|(name, _)| *name != "cpu_us");
                measures.push((
                    "cpu_us",
                    (user + system) * 1e6 / seen.report.count.max(1) as f64,
                ));
                data.add(medium.name(), mix, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}
