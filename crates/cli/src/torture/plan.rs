//! What a campaign was asked for.

use super::failure::Kind;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// What an acknowledged write has to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durability {
    /// A killed process
    Log,
    /// A power cut
    Fsync,
}

impl Durability {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Fsync => "fsync",
        }
    }
}

/// What was asked for on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) time: Duration,
    /// Failures after which it ends although there is time left.
    pub(crate) rounds: Option<usize>,
    pub(crate) nodes: u16,
    pub(crate) bricks: u16,
    pub(crate) replicas: u16,
    pub(crate) durability: Durability,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) seed: u64,
    pub(crate) report: PathBuf,
    /// Where data and logs stay; otherwise they are removed if nothing was wrong.
    pub(crate) dir: Option<PathBuf>,
}
