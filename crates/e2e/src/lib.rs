//! What the end-to-end tests are made of: processes, ports, a raw client, recorded loads.
//!
//! The tests themselves are in `tests/node/`, `tests/cluster/`, `tests/console/`, `tests/metrics/` and `tests/services/`. They start the real `brickyard` program, talk to it over
//! real sockets and compare it with a real `redis-server` where there is one.
//!
//! Invariants:
//! - Nothing of ours is shared with what is tested: requests are encoded and replies decoded by this
//!   crate's own few lines, so that a mistake in `wire` cannot hide itself. Trials of failures ([`trial`]) go through the
//!   client library, which is tried with the rest, and connections under TLS through the dialer that it has.
//! - State is waited for by polling with a deadline, never by sleeping; no test asserts a time.
//! - Every process is ended by the value that started it, by its id, also when a test panics.
//! - A part that cannot run here (no Redis, no Python, not root) is announced in one line ([`skip`]).

pub mod bank;
pub mod binary;
pub mod browser;
pub mod certificates;
pub mod client;
pub mod cluster;
pub mod deadline;
pub mod differential;
pub mod figure9;
pub mod http;
pub mod ledger;
pub mod load;
pub mod moves;
pub mod moving;
pub mod network;
pub mod plain;
pub mod port;
pub mod process;
pub mod promtool;
pub mod random;
pub mod resize;
pub mod runbook;
pub mod scrape;
pub mod server;
pub mod skip;
pub mod small_disk;
pub mod stock;
pub mod trial;
pub mod value;
