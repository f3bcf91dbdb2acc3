//! Systems of others, as they are on this machine.
//!
//! In:  programs on the PATH, jars that were fetched. Out: running processes; where something is not here, how to get it.
//!
//! Invariants:
//! - A peer listens on loopback, on a port that was free, keeps what it keeps in a temporary directory, and ends with its [`Process`].
//! - What is not here is told to the run, and the experiment goes on without.

mod databases;
pub(crate) mod infinispan;
mod stock;

pub(crate) use databases::{ETCD, MARIADB, MariadbClient, OPENDHT};
pub(crate) use stock::{MEMCACHED, REDIS, VALKEY};

use crate::run::Run;
use brickyard_bench::process::Process;
use std::path::Path;

/// A system that is started from a program of this machine.
pub(crate) trait Peer: Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// How to get it.
    fn remedy(&self) -> &'static str;

    /// Its version; none: it is not here.
    fn version(&self) -> Option<String>;

    /// Starts it below a directory, on the server's core, and waits until it answers.
    ///
    /// # Errors
    /// If it does not; the text has its last words.
    fn start(&self, dir: &Path) -> anyhow::Result<Process>;
}

/// Those that are here; the others are missed.
pub(crate) fn present(run: &Run<'_>, peers: &[&'static dyn Peer]) -> Vec<&'static dyn Peer> {
    let mut found = Vec::new();
    for peer in peers {
        match peer.version() {
            Some(version) => {
                run.meet(format!("{} {version}", peer.name()));
                found.push(*peer);
            }
            None => run.miss(peer.name(), peer.remedy()),
        }
    }
    found
}
