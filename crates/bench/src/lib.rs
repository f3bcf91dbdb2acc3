//! Load generation: asks a server for much, and measures how it does.
//!
//! In:  [`Options`]: a server, a workload, a pace. Out: a [`Report`], as a table or as JSON.
//!
//! One thread drives all connections over non-blocking sockets; it writes requests from templates
//! and only steps over replies, so one core of it outruns one core of a server.
//!
//! ```no_run
//! use brickyard_bench::{Distribution, KeySpace, Options, Pace, Target, Until, Workload};
//! let report = brickyard_bench::run(&Options {
//!     target: Target::resp("127.0.0.1:6379"),
//!     workload: Workload {
//!         set_share: 0.1,
//!         keys: KeySpace { count: 1_000_000, bytes: 16, distribution: Distribution::Uniform },
//!         value_bytes_min: 150,
//!         value_bytes_max: 150,
//!         expire_ms: None,
//!     },
//!     pace: Pace::Closed { pipeline: 100 },
//!     until: Until::Count(10_000_000),
//!     warm_up: std::time::Duration::from_secs(1),
//!     connections: 8,
//!     threads: 1,
//!     seed: 1,
//!     drain_limit: std::time::Duration::from_secs(10),
//! })?;
//! println!("{report}");
//! # Ok::<(), brickyard_bench::Error>(())
//! ```
//!
//! A cluster is measured through the client library, as programs use it (`cluster`); the same load then goes
//! straight to the brick of each key, and costs the client more.
//!
//! Servers to compare with are started, pinned and watched by [`peer`] and [`process`]; [`machine`] says on what.
//!
//! Not here: what the numbers of different servers look like beside each other; that is the
//! program `peers` (src/bin/peers), which writes docs/benchmarks.md.

mod cluster;
mod connection;
pub mod echo;
mod error;
mod generator;
mod installed;
mod keys;
mod link;
pub mod machine;
mod options;
pub mod peer;
pub mod process;
mod random;
mod record;
mod reply;
mod report;
mod run;
mod socket;
mod workload;

pub use cluster::{has_several_nodes, run_through_client};
pub use error::Error;
pub use installed::installed;
pub use keys::{Distribution, KeySpace};
pub use link::{Link, Target};
pub use options::{Arrivals, Options, Pace, Until};
pub use reply::{Outcome, Protocol, error_kind, error_text};
pub use report::{Latency, LookupReport, OperationReport, Report, grouped};
pub use run::run;
pub use workload::{Operation, Workload};
