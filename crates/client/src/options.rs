//! How a client finds its cluster, who it is there, and how far it goes.
//!
//! In:  a caller's wishes. Out: [`Options`].

use crate::{lard::Lard, lookups::Lookups};
use brickyard_types::limits::VALUE_BYTES_MAX;
use brickyard_wire::ReplyLimits;
use std::{fmt, time::Duration};

/// Which replicas answer reads. Either way reads are linearizable.
///
/// ```
/// use brickyard_client::{Lard, ReadPolicy};
/// let spread = ReadPolicy::Replicas(Lard::default());
/// assert_ne!(spread, ReadPolicy::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReadPolicy {
    /// The primary of the key's partition.
    #[default]
    Primary,
    /// This program's memory, as long as a lease says that nobody has changed the value, else the primary ([`Table::get`](crate::Table::get) alone; other reads go to
    /// the primary). For keys that are read far more often than written: only of tables that were made or altered with `LEASES on` is anything kept, a
    /// tenth of a second at a time, and writes of keys that others keep wait until these have let go.
    Kept {
        /// Bytes of keys and values that each table keeps.
        bytes: usize,
    },
    /// Each key's reads prefer one of its replicas, and leave it while it is overloaded or down.
    Replicas(Lard),
    /// The same among the replicas on certain hosts, as long as one of them answers; where none does or is, among all.
    ///
    /// For programs that run beside the bricks: each reads the copies on its own machine.
    Nearest {
        /// Hosts as the cluster's maps name them; or single bricks, with their ports.
        hosts: Vec<String>,
        /// Which of several, and when another.
        lard: Lard,
    },
}

impl ReadPolicy {
    /// How to choose among replicas, if they are read from.
    pub(crate) const fn lard(&self) -> Option<Lard> {
        match self {
            Self::Primary | Self::Kept { .. } => None,
            Self::Replicas(lard) | Self::Nearest { lard, .. } => Some(*lard),
        }
    }

    /// The hosts whose replicas come before others.
    pub(crate) fn near(&self) -> &[String] {
        match self {
            Self::Nearest { hosts, .. } => hosts,
            Self::Primary | Self::Kept { .. } | Self::Replicas(_) => &[],
        }
    }

    /// Bytes of what was read that are kept.
    pub(crate) const fn kept_bytes(&self) -> usize {
        match self {
            Self::Kept { bytes } => *bytes,
            Self::Primary | Self::Replicas(_) | Self::Nearest { .. } => 0,
        }
    }
}

/// What connections go by under TLS: whom they believe, and what they show if they are asked. Files that change count for
/// connections that are made from then on.
///
/// ```no_run
/// use brickyard_client::{Options, Tls, TlsFiles};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let files = TlsFiles {
///     authority: "brickyard-certs/ca.crt".into(),
///     identity: None,
/// };
/// let options = Options {
///     tls: Some(Tls::read(files)?),
///     ..Options::new(["db1.example:6379"])
/// };
/// # Ok(())
/// # }
/// ```
pub use brickyard_tls::Dialer as Tls;

/// What a client is made from. The fields have defaults; seeds are all that is needed.
///
/// ```
/// use brickyard_client::Options;
/// use std::time::Duration;
///
/// let options = Options {
///     user: Some("ann".to_owned()),
///     password: Some("secret".to_owned()),
///     deadline: Duration::from_secs(1),
///     ..Options::new(["10.0.0.1:6379", "10.0.0.2"])
/// };
/// assert_eq!(options.seeds, ["10.0.0.1:6379", "10.0.0.2:6379"]);
/// ```
#[derive(Clone)]
pub struct Options {
    /// Where to begin: `host:port` of node ports or bricks' ports, in any order. Name several nodes': one
    /// that runs has to be among them. The map tells of the others, whose node ports serve what concerns the
    /// whole table (SCAN, DBSIZE, ...) and stand in where the map does not help.
    pub seeds: Vec<String>,
    /// User name; a password without one is the default user's.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// What connections go by under TLS; without, they are in the clear. Default: none.
    pub tls: Option<Tls>,
    /// How long a call may take, all its attempts together. Default: 5 s. A replica that fails is replaced
    /// within about two lease times, 3 s by default.
    pub deadline: Duration,
    /// How long a connection may take to be made. Default: 1 s.
    pub connect_timeout: Duration,
    /// A connection that owes an answer and has been silent for so long may be dead: it gets no more calls, and
    /// what it owes to reads, and to writes that a server recognises when they come again, is asked of
    /// somebody else. Default: 1 s, beyond what a brick that lives is ever silent unless it waits for another.
    pub silence_limit: Duration,
    /// The same for reads that any replica may answer ([`ReadPolicy::Replicas`]): after so much silence they are asked of
    /// another replica. Default: 50 ms. Where round trips take longer it is four of them. Each further attempt of
    /// a read waits twice as long.
    pub hedge_after: Duration,
    /// Connections to a brick, for each table; where reads go to replicas, three times as many: for writes, for reads, and for
    /// reads that held up others. At least 1. Default: 1. A second one helps where single connections are slow, not where
    /// bricks are.
    pub connections_per_brick: usize,
    /// Which replicas answer reads.
    pub reads: ReadPolicy,
    /// Most calls that may be sent and not answered, all tables together; more wait. Default: 8192.
    pub in_flight_max: usize,
    /// Most bytes of requests that may be sent and not answered. Default: 64 MiB. A request that is larger
    /// by itself goes alone.
    pub in_flight_bytes_max: usize,
    /// How long a call may wait for its turn when that much is in flight, but never for more than half of its deadline: the
    /// other half is the cluster's. Then it ends with [`Error::Overloaded`](crate::Error::Overloaded), and at once where those
    /// before it waited so long. Default: half of the deadline, so that a burst of calls is sent as it can be; services that
    /// would rather be told at once choose less.
    pub turn_wait_max: Duration,
    /// How it is found who holds a key. Default: by the whole map.
    pub lookups: Lookups,
    /// Bounds on single messages.
    pub messages: MessageLimits,
}

/// Bounds on what is sent and what is received, each message by itself.
#[derive(Clone, Copy, Debug)]
pub struct MessageLimits {
    /// Longest key or value that is sent. Default: 64 MiB, the server's. A server closes the connection on
    /// longer ones, which would leave other calls' outcomes unknown; so they are refused here.
    pub argument_bytes_max: usize,
    /// Bounds on replies.
    pub reply: ReplyLimits,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            argument_bytes_max: VALUE_BYTES_MAX,
            reply: ReplyLimits::default(),
        }
    }
}

impl Options {
    /// The defaults, with these seeds. A seed without a port is at 6379.
    #[must_use]
    pub fn new<S: Into<String>>(seeds: impl IntoIterator<Item = S>) -> Self {
        Self {
            seeds: seeds.into_iter().map(|it| with_port(it.into())).collect(),
            user: None,
            password: None,
            tls: None,
            deadline: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(1),
            silence_limit: Duration::from_secs(1),
            hedge_after: Duration::from_millis(50),
            connections_per_brick: 1,
            reads: ReadPolicy::Primary,
            in_flight_max: 8192,
            in_flight_bytes_max: 64 * 1024 * 1024,
            turn_wait_max: Duration::MAX,
            lookups: Lookups::default(),
            messages: MessageLimits::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("seeds", &self.seeds)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("tls", &self.tls.is_some())
            .field("deadline", &self.deadline)
            .field("reads", &self.reads)
            .field("lookups", &self.lookups)
            .finish_non_exhaustive()
    }
}

fn with_port(seed: String) -> String {
    let port = seed.rsplit_once(':').map(|(_, port)| port);
    match port {
        Some(port) if port.parse::<u16>().is_ok() => seed,
        _ => format!("{seed}:6379"),
    }
}
