//! What a campaign was asked for.

use brickyard_torture::Failure;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// See [`Plan::patience`]; the default.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

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
    /// Without, the number of rounds says when it ends.
    pub(crate) time: Option<Duration>,
    /// Failures after which it ends although there is time left.
    pub(crate) rounds: Option<usize>,
    pub(crate) nodes: u16,
    pub(crate) bricks: u16,
    pub(crate) replicas: u16,
    pub(crate) durability: Durability,
    /// Records that are there beside those that clients use, of the size that `brickyard bench` has.
    pub(crate) records: u32,
    pub(crate) kinds: Vec<Failure>,
    pub(crate) seed: u64,
    /// After how long a client gives a silent connection up, and asks somebody else.
    pub(crate) patience: Duration,
    pub(crate) report: PathBuf,
    /// Where data and logs stay; otherwise they are removed if nothing was wrong.
    pub(crate) dir: Option<PathBuf>,
}
