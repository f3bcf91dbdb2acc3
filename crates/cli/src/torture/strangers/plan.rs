//! What strangers were asked for on the command line.

use std::path::PathBuf;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// A lap that is under way then is seen through.
    pub(crate) time: Duration,
    /// The load is measured for so long before anybody else comes.
    pub(crate) quiet: Duration,
    /// How long a stranger who is not closed stays.
    pub(crate) patience: Duration,
    pub(crate) nodes: u16,
    pub(crate) bricks: u16,
    /// That strangers hold and make anew beside those that are looked at.
    pub(crate) connections: usize,
    /// The first port, if there is a wish.
    pub(crate) port: Option<u16>,
    /// Where the page goes, if it is wanted.
    pub(crate) page: Option<PathBuf>,
    /// Where data and logs stay; otherwise they are removed if nothing was wrong.
    pub(crate) dir: Option<PathBuf>,
}
