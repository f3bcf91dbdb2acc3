//! A whole brick, minus its I/O: events in, effects out.
//!
//! A brick is one core's server: it executes its clients' requests against its partitions, orders
//! writes in its log, and passes to the node's other bricks what is theirs. Everything that meets
//! the operating system is outside: the server and the simulator drive the same assembly.
//!
//! A request's way through the files: `brick` (driven from outside) → `batch` (parse, look ahead)
//! → `execute` (checks) → `keyed` (which brick, which port) → `view` (one partition, newest state)
//! → `log` (prepared) → `events` (appended, committed) → `output` (reply let out).
//!
//! In:  bytes of connections, [`Event`]s, log records at start ([`LogReplay`]).
//! Out: bytes for connections, [`Effect`]s.
//!
//! Not here: what a command means (`brickyard-command`), where keys live in memory
//! (`brickyard-table`), files, sockets, threads and clocks (`brickyard-server`).

mod accepted;
pub mod acl;
pub mod acl_log;
mod append;
mod baselines;
mod batch;
mod brick;
mod catch_up;
mod changes;
pub mod channels;
mod check;
mod clean;
mod clients;
#[cfg(test)]
mod cluster_harness;
#[cfg(test)]
mod cluster_test;
mod connection;
mod coordinate;
mod core;
mod cpu_load;
pub mod directory;
mod dispatch;
mod distributed;
mod effect;
mod events;
mod evictions;
mod execute;
mod executed;
mod expire;
pub mod followers;
mod forward;
mod gather;
mod groups;
#[cfg(test)]
mod harness;
mod heal;
#[cfg(test)]
mod hinted;
mod input;
mod inspect;
mod key_stats;
mod key_walk;
mod keyed;
pub mod keyspace_events;
mod lease_gate;
mod leases;
mod load_meter;
mod log;
mod log_chunk;
mod log_health;
mod log_reader;
mod log_record;
pub mod lowest_level;
mod membership;
mod memory;
mod meter;
pub mod monitor;
mod moves;
mod offline;
mod orphans;
#[cfg(test)]
mod orphans_test;
mod output;
mod outside;
mod partly;
pub mod pause;
mod peer;
mod pending_merge;
mod pending_split;
mod plain;
mod prune;
pub mod quota;
mod random;
mod rate_limiter;
mod recovery;
mod refusal;
mod remote;
mod removals;
mod repeats;
mod replica;
mod request;
mod requests;
mod resize;
mod retained;
mod room;
#[cfg(test)]
mod rules_test;
pub mod scripts;
mod segments;
mod session;
pub mod settings;
pub mod shared;
mod shared_rate;
mod slowlog;
mod staging;
pub mod stats;
mod tables;
mod told;
mod trackers;
mod tracking;
mod transaction;
mod upkeep;
pub mod users;
mod version;
mod view;
mod watch;

pub use accepted::{Accepted, ConnectionId, Port};
pub use append::{Append, BatchId};
pub use brick::{Brick, BrickConfig};
pub use brickyard_replication::{Direction, LinkId, ReplicaSummary, Role};
pub use effect::{ColdRead, ControlReply, ControlRequest, Effect, Event, SetRule};
pub use forward::Forward;
pub use inspect::{Content, Inspection, LogUse, PartitionStatus};
pub use log_chunk::LogChunk;
pub use log_record::{HintItem, LogDamage, LogRecord};
pub use recovery::LogReplay;
#[doc(hidden)]
pub use remote::{message_kind, reads_message};
pub use segments::LIVE_PERCENT_WANTED;
pub use session::audit::AuditRecord;
